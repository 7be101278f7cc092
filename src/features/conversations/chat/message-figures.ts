import type { KeptFigures } from '../../../db/kept-figures.ts'

/** What one line counts for, of a row named `row`. */
const figuresOf = (row: string) =>
  `${row}.sender = 'user', ${row}.sender = 'user' AND ${row}.status = 'failed', ${row}.sender = 'agent'`
const dayOf = (row: string) => `date(${row}.created_at / 1000, 'unixepoch')`

const add = `INSERT INTO message_days (agent_id, day, asked, failed, answered)
  VALUES (NEW.agent_id, ${dayOf('NEW')}, ${figuresOf('NEW')})
  ON CONFLICT DO UPDATE SET asked = asked + excluded.asked, failed = failed + excluded.failed, answered = answered + excluded.answered;`

const takeAway = `UPDATE message_days
  SET asked = asked - (OLD.sender = 'user'), failed = failed - (OLD.sender = 'user' AND OLD.status = 'failed'),
    answered = answered - (OLD.sender = 'agent')
  WHERE agent_id = OLD.agent_id AND day = ${dayOf('OLD')};`

/** Keeps `message_days` in step with `messages`. */
export const MESSAGE_FIGURES: KeptFigures = {
  triggers: [
    { name: 'message_days_insert', event: 'AFTER INSERT ON messages', body: add },
    { name: 'message_days_update', event: 'AFTER UPDATE OF status ON messages', body: `${takeAway} ${add}` },
    { name: 'message_days_delete', event: 'AFTER DELETE ON messages', body: takeAway },
  ],
  recount: [
    'DELETE FROM message_days',
    `INSERT INTO message_days (agent_id, day, asked, failed, answered)
      SELECT agent_id, ${dayOf('m')} AS day, sum(m.sender = 'user'), sum(m.sender = 'user' AND m.status = 'failed'), sum(m.sender = 'agent')
      FROM messages AS m GROUP BY agent_id, day`,
  ],
}
