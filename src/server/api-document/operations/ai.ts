import type { Domain } from './domain.ts'

/** Language models, what was used of them, and what keeps use within bounds. */
export const AI: Domain = {
  Models: {
    about: 'Completions and embeddings through every configured provider; `/v1` in the form of OpenAI.',
    routes: {
      'POST /v1/chat/completions': 'Completes a conversation, streamed or whole',
      'POST /v1/embeddings': 'Turns texts into vectors',
      'GET /v1/models': 'Lists the models that the key may use',
      'GET /v1/models/:model': 'Returns a model that the key may use',
      'POST /v1/tool-events': 'Reports which tools an agent used',
      'GET /api/models': 'Lists the models that agents can use',
      'GET /api/ai/health': 'Tells which providers answer',
      'GET /api/ai/models': 'Lists all models with their prices',
      'GET /api/ai/models/:provider': 'Lists the models of a provider',
      'POST /api/ai/models/select': 'Chooses a model for a kind of task',
      'POST /api/ai/estimate-cost': 'Estimates what a call would cost',
      'POST /api/ai/chat': 'Completes a conversation in our own form',
      'GET /api/demo/chat': 'Lists the models that strangers may try',
      'POST /api/demo/chat': 'Tries a model without an account',
    },
  },
  Usage: {
    about: 'Calls, tokens and costs, by day, agent, model and tool.',
    routes: {
      'GET /api/me/usage': 'Tells what the caller used this month',
      'GET /api/dashboard/cost': 'Shows costs by agent, model and day',
      'GET /api/keys/:id/usage': 'Shows what a key used, beside its limits',
      'GET /api/usage/by-day': 'Sums up your use by day, agent, key and model',
      'GET /api/usage/calls': 'Lists your calls of models, page by page',
      'GET /api/usage/export': 'Exports every call as CSV',
      'GET /api/usage/summary': 'Sums up use by day, agent and model',
      'GET /api/usage/by-agent/:agentId': 'Sums up the use of an agent',
      'GET /api/usage/by-model': 'Sums up use by model',
      'GET /api/usage/daily': 'Sums up use by day',
      'GET /api/usage/tools': 'Sums up the use of tools',
    },
  },
  Limits: {
    about: 'Daily caps of an agent, and the switches that keep agents from models.',
    routes: {
      'GET /api/agents/:id/breaker': 'Shows the caps of an agent and its use',
      'PUT /api/agents/:id/breaker': 'Changes the daily caps of an agent',
      'POST /api/agents/:id/pause': 'Keeps an agent from models',
      'POST /api/agents/:id/resume': 'Lets a paused agent use models again',
      'GET /api/pause': 'Tells whether all your agents are paused',
      'PUT /api/pause': 'Pauses or resumes all your agents',
      'GET /api/admin/pause': 'Tells whether the whole platform is paused',
      'PUT /api/admin/pause': 'Pauses or resumes the whole platform',
    },
  },
}
