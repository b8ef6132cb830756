// The thread of `Checkpoints`. A thread is started by the path of its file, which is the same in the sources and in the
// build because this is JavaScript.
import { parentPort, workerData } from 'node:worker_threads';
import Database from 'better-sqlite3';

const db = new Database(workerData, { fileMustExist: true, timeout: 0 });
const move = db.prepare('PRAGMA wal_checkpoint(PASSIVE)');

parentPort.on('message', (order) => {
  if (order === 'end') {
    db.close();
    parentPort.close();
    return;
  }
  try {
    move.get();
    // While the disk was waited for, the log has become longer. Now there is less to wait for.
    move.get();
    parentPort.postMessage('moved');
  } catch {
    // For example on a full disk. Whoever moves the log later reports it if it lasts.
    parentPort.postMessage('failed');
  }
});
