/** Drops the function that executed the statements of catalog pages with settings of its own: plain statements have the same plans. */
export { down as up, up as down } from './20261123030000_read_pages_by_index';
