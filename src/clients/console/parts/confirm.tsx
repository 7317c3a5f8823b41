import type { ReactNode } from 'react';
import { Dialog, Heading } from 'react-aria-components/Dialog';
import { Modal, ModalOverlay } from 'react-aria-components/Modal';
import { texts } from '../texts';
import { Action } from './action';

interface Options {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  /** The buttons beside the close button. */
  actions: ReactNode;
  children: ReactNode;
}

export function Confirm({ title, isOpen, onClose, actions, children }: Options) {
  return (
    <ModalOverlay
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      isDismissable
      className="overlay"
    >
      <Modal className="modal">
        <Dialog className="dialog">
          <Heading slot="title">{title}</Heading>
          {children}
          <div className="actions">
            {actions}
            <Action onPress={onClose}>{texts.close}</Action>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
