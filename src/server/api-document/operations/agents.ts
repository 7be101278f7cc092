import type { Domain } from './domain.ts'

/** What agents are, and what is done with them. */
export const AGENTS: Domain = {
  Agents: {
    about: 'The registry: agents, their names, plans and settings.',
    routes: {
      'GET /api/agents': 'Lists agents',
      'POST /api/agents': 'Creates an agent without deploying it',
      'GET /api/agents/:id': 'Shows an agent',
      'PUT /api/agents/:id': 'Changes the plan or provider of an agent',
      'PATCH /api/agents/:id': 'Renames an agent',
      'PUT /api/agents/:id/labels': 'Replaces the labels of an agent',
      'GET /api/agents/:id/config': 'Shows the settings of an agent, secrets masked',
      'PUT /api/agents/:id/config': 'Changes settings of an agent',
      'GET /api/agents/provision': 'Lists your agents as provisioning clients read them',
      'POST /api/agents/provision': 'Creates an agent and deploys it',
      'POST /api/provision': 'Provisions an agent with its channels in one call',
    },
  },
  Deployments: {
    about: 'Starting, stopping, updating and repairing what an agent runs in.',
    routes: {
      'POST /api/deployments': 'Deploys an agent for a user',
      'GET /api/agents/:id/deployments': 'Lists what was asked of an agent, and outcomes',
      'GET /api/agents/:id/events': 'Streams the status of an agent',
      'POST /api/agents/:id/start': 'Starts an agent',
      'POST /api/agents/:id/stop': 'Stops an agent',
      'POST /api/agents/:id/restart': 'Restarts an agent',
      'POST /api/agents/:id/update': 'Updates an agent to another version or image',
      'POST /api/agents/:id/repair': 'Repairs an agent that does not run well',
      'POST /api/agents/:id/reset-memory': 'Clears what an agent remembers',
      'GET /api/agents/:id/snapshots': 'Lists what is kept of what an agent stored',
      'POST /api/agents/:id/snapshots/:snapshotId/restore': 'Puts back what an agent had stored',
      'DELETE /api/agents/:id': 'Deletes an agent with its workspace',
      'GET /api/agents/:id/token': "Shows the token of an agent's gateway",
      'POST /api/agents/:id/token/rotate': "Replaces the token of an agent's gateway",
      'POST /api/agents/:id/platform-token/rotate': 'Replaces the token that an agent calls with',
    },
  },
  Watchdog: {
    about: 'Whether agents are well, and what was done about it.',
    routes: {
      'GET /api/agents/:id/watchdog': 'Tells how the watchdog sees an agent',
      'POST /api/watchdog/test': 'Sends a test notification to the operator',
    },
  },
  Logs: {
    about: 'What agents print.',
    routes: {
      'GET /api/logs/active': 'Lists the log streams that you follow',
      'GET /api/logs/:agentId/history': 'Reads or searches the log of an agent',
      'GET /api/logs/:agentId/stream': 'Streams the log of an agent',
      'POST /api/logs/:agentId/stop': 'Ends your log streams of an agent',
    },
  },
  Clones: {
    about: 'Copies of an agent, with what they cost.',
    routes: {
      'GET /api/agents/clone': 'Tells what a clone costs and takes',
      'POST /api/agents/clone': 'Clones an agent',
    },
  },
  Channels: {
    about: 'Messengers in which an agent can be spoken to, and who may.',
    routes: {
      'GET /api/agents/:id/channels': 'Lists the messengers of an agent and its people',
      'GET /api/agents/:id/conversations': 'Lists the conversations of an agent outside the web',
      'GET /api/agents/:id/conversations/:session': 'Shows a conversation outside the web',
      'GET /api/agents/:id/channels/mail': 'Shows whether an agent answers mail',
      'PUT /api/agents/:id/channels/mail': 'Changes whether and whom an agent answers by mail',
      'GET /api/agents/:id/webhook-channel': 'Shows the webhook of an agent',
      'PUT /api/agents/:id/webhook-channel': 'Changes the webhook of an agent',
      'DELETE /api/agents/:id/webhook-channel': 'Removes the webhook of an agent',
      'POST /api/webhooks/agents/:id': 'Receives an event for an agent',
      'POST /api/agents/:id/channels/:name/pairings/:code': 'Lets somebody in who showed a code',
      'DELETE /api/agents/:id/channels/:name/people/:personId': 'Takes somebody off a messenger of an agent',
    },
  },
  Verification: {
    about: 'Proofs of who owns an agent.',
    routes: {
      'GET /api/agents/:id/verify': 'Shows the proof of an agent',
      'GET /api/agents/:id/verification': 'Shows the proof of an agent',
      'POST /api/agents/:id/verify/challenge': 'Asks for the text that a wallet signs',
      'POST /api/agents/:id/verify': 'Checks a proof and keeps it',
      'DELETE /api/agents/:id/verify': 'Removes the proof of an agent',
    },
  },
  Machines: {
    about: 'Stead at home, and gateways elsewhere, as they register with this platform.',
    routes: {
      'POST /api/register-home': 'Registers a machine at home',
      'POST /api/register-link': 'Links a gateway that runs elsewhere',
      'POST /api/heartbeat backend': 'Tells that a machine lives',
      'GET /api/installations': 'Lists registered machines',
      'GET /api/installations/address': 'Tells the port of the backend',
      'DELETE /api/installations/:id': 'Forgets a machine',
      'GET /api/served': 'Tells a proxy whether a host name is ours',
    },
  },
}
