import type { Domain } from './domain.ts'

/** What others wrote, in figures. */
export const MONITORING: Domain = {
  Health: {
    about: 'Whether the program works, for people, proxies and monitoring.',
    routes: {
      'GET /healthz': 'Tells that the process lives',
      'GET /readyz': 'Tells whether requests can be served',
      'GET /health backend': 'Tells whether writes, containers and provisioning work',
      'GET /health summarizer': 'Tells that the summarizer works',
      'GET /api/health': 'Tells how busy the machine is',
      'GET /metrics': 'Gives figures in the form of Prometheus',
      'GET /': 'Describes the summarizer and how it is paid',
      'GET /openapi.json': 'Gives this document',
    },
  },
  Metrics: {
    about: 'What agents and the platform use.',
    routes: {
      'GET /api/metrics': 'Shows figures of your agents and the platform',
      'GET /api/agents/:id/stats': 'Shows what an agent uses now',
      'GET /api/agents/:id/metrics': 'Shows figures of an agent over a time',
      'GET /api/metrics/:userId/historical': 'Shows figures of a user by hour',
      'GET /api/metrics/:userId/performance': 'Shows how well the agents of a user run',
      'GET /api/metrics/:userId/summary': 'Shows business figures, all null: none is measured',
      'GET /api/runtime/version': 'Tells which version agents run',
      'GET /api/runtime/instances': 'Lists running agents',
      'GET /api/runtime/instances/:id/stats': 'Shows what a running agent uses',
    },
  },
  Overview: {
    about: 'What the first page of the dashboard shows.',
    routes: { 'GET /api/overview': 'Shows what matters now, in one answer' },
  },
  Fleet: {
    about: 'All agents of somebody, in pages, with what they cost and how they are.',
    routes: {
      'GET /api/fleet': 'Lists agents with status, labels, uptime and cost',
      'GET /api/fleet/events': 'Streams changes of your agents',
      'POST /api/fleet/changes': 'Changes many agents at once',
    },
  },
  'Mission control': {
    about: 'All agents at a glance: how they work together, what they do and cost.',
    routes: {
      'GET /api/mission-control/fleet/graph': 'Shows agents and who works with whom',
      'GET /api/mission-control/fleet/traces': 'Lists the last calls of models',
      'GET /api/mission-control/fleet/costs': 'Shows what each agent cost',
      'GET /api/mission-control/fleet/bookings': 'Lists what is booked or waits',
      'GET /api/colony/status': 'Shows the agents as a colony',
    },
  },
  Instances: {
    about: 'The agent of a user under the name of the user, as older clients ask.',
    routes: {
      'GET /api/instance/:userId': 'Shows the instance of a user',
      'GET /api/instance/:userId/stats': 'Shows what the instance uses',
      'GET /api/instance/:userId/token': "Shows the token of the instance's gateway",
      'POST /api/instance/:userId/start': 'Starts the instance',
      'POST /api/instance/:userId/stop': 'Stops the instance',
      'POST /api/instance/:userId/restart': 'Restarts the instance',
      'POST /api/instance/:userId/update': 'Updates the instance',
      'POST /api/instance/:userId/repair': 'Repairs the instance',
      'POST /api/instance/:userId/reset-memory': 'Clears what the instance remembers',
    },
  },
  'MCP server': {
    about: 'Stead as an MCP server: its tools for other programs.',
    routes: {
      'POST /mcp': 'Answers a message of the Model Context Protocol',
      'GET /mcp': 'Says by 405 that it has no stream',
      'DELETE /mcp': 'Says by 405 that it has no sessions',
    },
  },
  'Infrastructure guide': {
    about: 'How agents manage infrastructure at Render through its MCP server.',
    routes: {
      'GET /api/infra-mcp/health': 'Tells which server the guide is about',
      'GET /api/infra-mcp/info': 'Describes the server',
      'GET /api/infra-mcp/setup': 'Tells how to set the server up',
      'GET /api/infra-mcp/tools': 'Lists the tools of the server',
      'GET /api/infra-mcp/examples': 'Gives examples of what to ask',
      'GET /api/infra-mcp/docs': 'Leads to the documentation of the server',
      'GET /api/infra-mcp/github': 'Leads to the repository of the server',
      'POST /api/infra-mcp/validate-config': 'Checks a key of the server',
    },
  },
}
