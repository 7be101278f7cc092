import { type Context, Hono } from 'hono'
import { endpoint } from '../../../http/endpoint.ts'
import type { WebEnv } from '../../../http/env.ts'
import type { Guards } from '../../../http/sessions/session.ts'
import { validate } from '../../../http/validate.ts'
import { getAgent } from '../registry/agents.ts'
import {
  type AgentChannelDeps,
  decideChannelPairing,
  listAgentChannels,
  removeChannelPerson,
  showMailChannel,
  switchMailChannel,
} from './channels.ts'
import { ChannelChanged, ChannelList, MailChannel, MailChannelRequest, PairingDecision } from './schemas.ts'

/** Channel routes of the web API: own agents only. */
export function channelsWeb(deps: AgentChannelDeps & { guards: Guards }) {
  const app = new Hono<WebEnv>()
  const { signedIn } = deps.guards
  const toDecider = (c: Context<WebEnv>) => ({
    principal: { kind: 'user', user: c.var.user } as const,
    address: c.env.address,
  })

  app.get(
    '/api/agents/:id/channels',
    endpoint({
      summary: 'Lists messengers and allowed senders of an agent',
      tag: 'Channels',
      responses: { 200: ChannelList },
      errors: ['not_found'],
    }),
    signedIn,
    async (c) => c.json(await listAgentChannels(deps, { kind: 'user', user: c.var.user }, c.req.param('id'))),
  )

  app.get(
    '/api/agents/:id/channels/mail',
    endpoint({
      summary: 'Returns the mail channel of an agent',
      tag: 'Channels',
      responses: { 200: MailChannel },
      errors: ['not_found'],
    }),
    signedIn,
    (c) => {
      const { id } = getAgent(deps.db, { kind: 'user', user: c.var.user }, c.req.param('id'))
      return c.json(showMailChannel(deps.db, deps.agentMail, id))
    },
  )

  app.put(
    '/api/agents/:id/channels/mail',
    endpoint({
      summary: 'Changes the mail channel of an agent',
      tag: 'Channels',
      responses: { 200: MailChannel },
      errors: ['not_found', 'unavailable'],
    }),
    signedIn,
    validate('json', MailChannelRequest),
    async (c) => c.json(await switchMailChannel(deps, toDecider(c), c.req.param('id'), c.req.valid('json'))),
  )

  app.post(
    '/api/agents/:id/channels/:name/pairings/:code',
    endpoint({
      summary: 'Approves a sender by pairing code',
      tag: 'Channels',
      responses: { 200: ChannelChanged },
      errors: ['not_found', 'conflict'],
    }),
    signedIn,
    validate('json', PairingDecision),
    async (c) => {
      const { id, name: channel, code } = c.req.param()
      await decideChannelPairing(deps, toDecider(c), id, { channel, code, ...c.req.valid('json') })
      return c.json({ success: true })
    },
  )

  app.delete(
    '/api/agents/:id/channels/:name/people/:personId',
    endpoint({
      summary: 'Removes an allowed sender from an agent',
      tag: 'Channels',
      responses: { 200: ChannelChanged },
      errors: ['not_found', 'conflict'],
    }),
    signedIn,
    async (c) => {
      const { id, name: channel, personId } = c.req.param()
      await removeChannelPerson(deps, toDecider(c), id, { channel, personId })
      return c.json({ success: true })
    },
  )

  return app
}
