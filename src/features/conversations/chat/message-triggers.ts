import { mergeInSmallSteps } from '../../../db/full-text.ts'
import type { KeptFigures } from '../../../db/kept-figures.ts'

/** Columns besides the text that can limit a search. */
const OWNERS = 'user_id, agent_id'

/**
 * Full-text index of messages. User and agent are indexed as words, so that a search reads only their rows even for
 * common words.
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
    { name: 'messages_fts_insert', event: 'AFTER INSERT ON messages', body: addWords() },
    {
      name: 'messages_fts_update',
      event: `AFTER UPDATE OF content, ${OWNERS} ON messages`,
      body: `${removeWords()} ${addWords()}`,
    },
    { name: 'messages_fts_delete', event: 'AFTER DELETE ON messages', body: removeWords() },
  ],
  recount: [`INSERT INTO messages_fts (messages_fts) VALUES ('rebuild')`],
}

function addWords(): string {
  return `INSERT INTO messages_fts (rowid, content, ${OWNERS}) VALUES (NEW.sequence, NEW.content, NEW.user_id, NEW.agent_id);`
}

function removeWords(): string {
  return `INSERT INTO messages_fts (messages_fts, rowid, content, ${OWNERS}) VALUES ('delete', OLD.sequence, OLD.content, OLD.user_id, OLD.agent_id);`
}

const countsOf = (row: string) =>
  `${row}.sender = 'user', ${row}.sender = 'user' AND ${row}.status = 'failed', ${row}.sender = 'agent'`
const dayOf = (row: string) => `date(${row}.created_at / 1000, 'unixepoch')`

const addCounts = `INSERT INTO message_days (agent_id, day, asked, failed, answered)
  VALUES (NEW.agent_id, ${dayOf('NEW')}, ${countsOf('NEW')})
  ON CONFLICT DO UPDATE SET asked = asked + excluded.asked, failed = failed + excluded.failed, answered = answered + excluded.answered;`

const subtractCounts = `UPDATE message_days
  SET asked = asked - (OLD.sender = 'user'), failed = failed - (OLD.sender = 'user' AND OLD.status = 'failed'),
    answered = answered - (OLD.sender = 'agent')
  WHERE agent_id = OLD.agent_id AND day = ${dayOf('OLD')};`

/** Triggers that keep `message_days` consistent with `messages`. */
export const MESSAGE_FIGURES: KeptFigures = {
  triggers: [
    { name: 'message_days_insert', event: 'AFTER INSERT ON messages', body: addCounts },
    {
      name: 'message_days_update',
      event: 'AFTER UPDATE OF status ON messages',
      body: `${subtractCounts} ${addCounts}`,
    },
    { name: 'message_days_delete', event: 'AFTER DELETE ON messages', body: subtractCounts },
  ],
  recount: [
    'DELETE FROM message_days',
    `INSERT INTO message_days (agent_id, day, asked, failed, answered)
      SELECT agent_id, ${dayOf('m')} AS day, sum(m.sender = 'user'), sum(m.sender = 'user' AND m.status = 'failed'), sum(m.sender = 'agent')
      FROM messages AS m GROUP BY agent_id, day`,
  ],
}
