import type { KeptFigures } from '../../../db/kept-figures.ts'

/**
 * The words of all messages. Whose they are is a word as well, so that a search reads no more than one person has written,
 * however many others use the same words. Beginnings of one to four letters are in the index as well: without that a search
 * for one would first gather every message that has any word beginning so.
 */
export const MESSAGE_WORDS: KeptFigures = {
  tables: [
    // An earlier one was made without beginnings.
    'DROP TABLE IF EXISTS messages_fts',
    `CREATE VIRTUAL TABLE messages_fts USING fts5(content, user_id, content='messages', content_rowid='sequence', tokenize='unicode61 remove_diacritics 2', prefix='1 2 3 4')`,
  ],
  triggers: [
    { name: 'messages_fts_insert', event: 'AFTER INSERT ON messages', body: add() },
    { name: 'messages_fts_update', event: 'AFTER UPDATE OF content ON messages', body: `${takeAway()} ${add()}` },
    { name: 'messages_fts_delete', event: 'AFTER DELETE ON messages', body: takeAway() },
  ],
  recount: [`INSERT INTO messages_fts (messages_fts) VALUES ('rebuild')`],
}

function add(): string {
  return 'INSERT INTO messages_fts (rowid, user_id, content) VALUES (NEW.sequence, NEW.user_id, NEW.content);'
}

function takeAway(): string {
  return `INSERT INTO messages_fts (messages_fts, rowid, content, user_id) VALUES ('delete', OLD.sequence, OLD.content, OLD.user_id);`
}
