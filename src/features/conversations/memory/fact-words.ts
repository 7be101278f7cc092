import { mergeInSmallSteps } from '../../../db/full-text.ts'
import type { KeptFigures } from '../../../db/kept-figures.ts'

const ADD = `INSERT INTO memory_fts (rowid, key, text, agent_id)
  VALUES (NEW.sequence, NEW.key, coalesce(json_extract(NEW.value, '$'), ''), NEW.agent_id);`
const TAKE_AWAY = 'DELETE FROM memory_fts WHERE rowid = OLD.sequence;'

/** The words of all facts, with a copy of their texts: what the table has is JSON. The agent is a word as well, as in `MESSAGE_WORDS`. */
export const FACT_WORDS: KeptFigures = {
  tables: [
    'DROP TABLE IF EXISTS memory_words',
    'DROP TABLE IF EXISTS memory_fts',
    `CREATE VIRTUAL TABLE memory_fts USING fts5(key, text, agent_id, tokenize='unicode61 remove_diacritics 2')`,
    ...mergeInSmallSteps('memory_fts'),
    'CREATE VIRTUAL TABLE memory_words USING fts5vocab(memory_fts, instance)',
  ],
  triggers: [
    { name: 'memory_fts_insert', event: 'AFTER INSERT ON agent_memory', body: ADD },
    { name: 'memory_fts_update', event: 'AFTER UPDATE ON agent_memory', body: `${TAKE_AWAY} ${ADD}` },
    { name: 'memory_fts_delete', event: 'AFTER DELETE ON agent_memory', body: TAKE_AWAY },
  ],
  recount: [
    `INSERT INTO memory_fts (rowid, key, text, agent_id)
      SELECT sequence, key, coalesce(json_extract(value, '$'), ''), agent_id FROM agent_memory`,
  ],
}
