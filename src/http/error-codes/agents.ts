import type { ErrorCodes } from './error-code.ts'

/** What agents run in, what they are asked, and what they may. */
export const AGENT_CODES = {
  AGENT_NOT_RUNNING: { kinds: ['conflict'], means: 'The agent has to run for this.', remedy: 'Start it.' },
  NOT_RUNNING: { kinds: ['conflict'], means: 'The agent has to run for this.', remedy: 'Start it.' },
  RUNNING: { kinds: ['conflict'], means: 'The agent has to be stopped for this.', remedy: 'Stop it.' },
  WAKE_FAILED: {
    kinds: ['unavailable'],
    means: 'The agent sleeps and could not be started; the message says why.',
    remedy: 'Look at its log; repair it.',
  },
  ROLLED_BACK: {
    kinds: ['internal'],
    means: 'The new version was not well, so that the one before runs again.',
    remedy: 'Read the reason in `GET /api/agents/:id/deployments`.',
  },
  ENGINE_UNAVAILABLE: {
    kinds: ['internal'],
    means: 'The container engine or runtime does not answer.',
    remedy: 'Try again; the operator looks at `stead doctor`.',
  },
  IMAGE_NOT_FOUND: { kinds: ['not_found'], means: 'There is no image of this name.', remedy: 'Correct the name.' },
  IMAGE_NOT_ALLOWED: {
    kinds: ['invalid'],
    means: 'The operator does not allow this image.',
    remedy: 'Use one of the allowed images.',
  },
  UNKNOWN_MODEL: {
    kinds: ['invalid'],
    means: 'No provider offers a model of this name; `near` names similar ones.',
    remedy: 'Choose one of `GET /api/models`.',
  },
  NAME_TAKEN: { kinds: ['conflict'], means: 'Something else has the name already.', remedy: 'Choose another name.' },
  NOT_CONFINED: {
    kinds: ['invalid'],
    means: 'The agent does not run in a container, so nothing confines what commands would do.',
    remedy: 'Use an agent that runs in a container (`AGENT_RUNTIME=docker` or `swarm`).',
  },
  PORT_TAKEN: {
    kinds: ['conflict'],
    means: 'Another program has the port.',
    remedy: 'Try again: another port is taken.',
  },
  ON_ANOTHER_NODE: {
    kinds: ['unavailable'],
    means: 'The files of the agent are on another machine of the swarm.',
    remedy: 'Ask on that machine, or by the tools of the agent.',
  },
  OTHER_RUNTIME: {
    kinds: ['conflict'],
    means: 'The agent keeps this in files of its own.',
    remedy: 'Change those files in its workspace.',
  },
  TURN_RUNNING: {
    kinds: ['conflict'],
    means: 'The reply is still under way.',
    remedy: 'Wait for it, or stop the turn.',
  },
  TURN_STOPPED: {
    kinds: ['conflict'],
    means: 'The turn was stopped on purpose; `reply` is what was said.',
    remedy: 'Ask again.',
  },
  TURN_INTERRUPTED: { kinds: ['conflict'], means: 'The agent ended in the middle of the turn.', remedy: 'Ask again.' },
  TURN_NOT_FOUND: { kinds: ['not_found'], means: 'The agent knows no such turn.', remedy: 'Ask anew.' },
  SWARM_DISABLED: { kinds: ['conflict'], means: 'The swarm is switched off.', remedy: 'Switch it on.' },
  SWARM_EMPTY: { kinds: ['conflict'], means: 'The swarm has no agents.', remedy: 'Add some.' },
  TOOL_OFF: {
    kinds: ['forbidden'],
    means: 'The owner has switched this tool off for the agent.',
    remedy: 'Switch it on in the settings of the agent.',
  },
  HOST_NOT_ALLOWED: {
    kinds: ['forbidden'],
    means: 'The owner has not allowed requests to this host.',
    remedy: 'Add the host to the tools of the agent.',
  },
  OTHER_PLATFORM: {
    kinds: ['conflict'],
    means: 'The conversation is held on another platform, such as Telegram.',
    remedy: 'Write there, or begin a conversation here.',
  },
  NOT_APPROVED: {
    kinds: ['forbidden', 'conflict'],
    means: 'The owner has not approved exactly this.',
    remedy: 'Ask by `POST /v1/approvals`, and send what was approved.',
  },
  NOT_WAITING: {
    kinds: ['conflict'],
    means: 'What is to be decided was decided, or has expired.',
    remedy: 'Nothing: look at what became of it.',
  },
  NOT_OWNER: {
    kinds: ['forbidden'],
    means: 'Only the owner of the agent decides this.',
    remedy: 'Decide as the owner.',
  },
  NO_OWNER: {
    kinds: ['forbidden'],
    means: 'Nobody owns the agent, so that nobody can approve.',
    remedy: 'Give the agent an owner.',
  },
  DASHBOARD_ONLY: {
    kinds: ['forbidden'],
    means: 'Payments are decided on the dashboard alone, and so is what an agent asks that runs commands.',
    remedy: 'Decide there.',
  },
  BINARY_FILE: { kinds: ['invalid'], means: 'The file is no text.', remedy: 'Download it.' },
  FILE_CHANGED: {
    kinds: ['conflict'],
    means: 'The file has changed since it was read.',
    remedy: 'Read it again, then write.',
  },
} as const satisfies ErrorCodes
