import { mergeInSmallSteps } from '../../../db/full-text.ts'
import type { KeptFigures } from '../../../db/kept-figures.ts'

/** The columns beside the text that a search can be held to. */
const OWNERS = 'user_id, agent_id'

/**
 * The words of all messages. Whose they are and with which agent are words as well, so that a search reads no more than one
 * person has written with one agent, however many others use the same words.
 */
export const MESSAGE_WORDS: KeptFigures = {
  tables: [
    'DROP TABLE IF EXISTS messages_words',
    'DROP TABLE IF EXISTS messages_fts',
    `CREATE VIRTUAL TABLE messages_fts USING fts5(content, ${OWNERS}, content='messages', content_rowid='sequence', tokenize='unicode61 remove_diacritics 2')`,
    ...mergeInSmallSteps('messages_fts'),
    'CREATE VIRTUAL TABLE messages_words USING fts5vocab(messages_fts, instance)',
  ],
  triggers: [
    { name: 'messages_fts_insert', event: 'AFTER INSERT ON messages', body: add() },
    {
      name: 'messages_fts_update',
      event: `AFTER UPDATE OF content, ${OWNERS} ON messages`,
      body: `${takeAway()} ${add()}`,
    },
    { name: 'messages_fts_delete', event: 'AFTER DELETE ON messages', body: takeAway() },
  ],
  recount: [`INSERT INTO messages_fts (messages_fts) VALUES ('rebuild')`],
}

function add(): string {
  return `INSERT INTO messages_fts (rowid, content, ${OWNERS}) VALUES (NEW.sequence, NEW.content, NEW.user_id, NEW.agent_id);`
}

function takeAway(): string {
  return `INSERT INTO messages_fts (messages_fts, rowid, content, ${OWNERS}) VALUES ('delete', OLD.sequence, OLD.content, OLD.user_id, OLD.agent_id);`
}
