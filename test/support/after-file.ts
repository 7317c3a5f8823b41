type Closer = () => Promise<void> | void;
const closers: Closer[] = [];

/** Support code that opens something says here how it is closed: after the file's last test, last opened first. */
export function afterFile(close: Closer): void {
  closers.push(close);
}

/** Closes everything, even if something fails on the way; fails then. */
export async function closeAll(): Promise<void> {
  const failures: unknown[] = [];
  for (let close = closers.pop(); close; close = closers.pop()) {
    try {
      await close();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
