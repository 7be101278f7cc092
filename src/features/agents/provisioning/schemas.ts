import { z } from 'zod'
import { ConfigRequest, PlainSettings, ProvisionRequest, SecretSettings } from '../registry/schemas.ts'

const { telegramToken, discordBotToken, whatsappToken, apiKey } = SecretSettings.shape
const { telegramUserId, skills, agentType, subscriptionId, email } = PlainSettings.shape

/** Drops empty fields, because forms send them too. */
function withoutEmpty(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null && value !== ''))
}

/**
 * `POST /api/provision` on both APIs. `channelToken`, `channelUserId` and `paymentSubscriptionId` are aliases of
 * `telegramToken`, `telegramUserId` and `subscriptionId`.
 */
export const ProvisionOrder = z.preprocess(
  withoutEmpty,
  z
    .object({
      name: ProvisionRequest.shape.name.default('Agent'),
      telegramToken: telegramToken.optional(),
      channelToken: telegramToken.optional(),
      telegramUserId,
      channelUserId: telegramUserId,
      discordBotToken: discordBotToken.optional(),
      whatsappToken: whatsappToken.optional(),
      ownerIds: PlainSettings.shape.ownerIds,
      aiProvider: ConfigRequest.shape.aiProvider,
      apiKey: apiKey.optional(),
      plan: z.string('plan must be text').max(40, 'plan must be at most 40 characters').optional(),
      model: ConfigRequest.shape.model,
      skills,
      agentType: agentType.default('creative'),
      autoProvision: z.boolean('autoProvision must be true or false').default(false),
      email,
      subscriptionId,
      paymentSubscriptionId: subscriptionId,
      stripeSubscriptionId: subscriptionId,
    })
    .transform(({ channelToken, channelUserId, paymentSubscriptionId, stripeSubscriptionId, ...order }) => ({
      ...order,
      telegramToken: order.telegramToken ?? channelToken,
      telegramUserId: order.telegramUserId ?? channelUserId,
      subscriptionId: order.subscriptionId ?? paymentSubscriptionId ?? stripeSubscriptionId,
      email: order.email?.toLowerCase(),
    })),
)
export type ProvisionOrder = z.infer<typeof ProvisionOrder>

const nothing = z.null()

/**
 * `POST /api/provision` of the web. The stream fields are null, because no video service is connected. `error` says why
 * the deployment failed.
 */
export const WebProvisioned = z.object({
  success: z.literal(true),
  userId: z.string(),
  agentId: z.string(),
  status: z.string(),
  subdomain: z.string(),
  url: z.string(),
  streamKey: nothing,
  liveStreamId: nothing,
  error: z.string().optional(),
})
export type WebProvisioned = z.infer<typeof WebProvisioned>

const Channel = z.enum(['enabled', 'disabled'])

/** `POST /api/provision` of the backend. `container` is missing when the engine does not respond. */
export const Provisioned = WebProvisioned.extend({
  id: z.string(),
  aiProvider: z.string(),
  aiProviderConfig: z.object({ model: z.string(), baseUrl: z.string().nullable(), requiresKey: z.boolean() }),
  plan: z.string(),
  rtmpServer: nothing,
  playbackUrl: nothing,
  hls: z.object({ playlistUrl: nothing }),
  rtmp: z.object({ server: nothing, key: nothing }),
  createdAt: z.string(),
  metadata: z.object({
    channels: z.object({ telegram: Channel, discord: Channel, whatsapp: Channel }),
    streaming: z.object({ provider: nothing, lowLatency: nothing, resolution: nothing, bitrate: nothing }),
  }),
  container: z.object({ name: z.string(), status: z.string() }).optional(),
})
export type Provisioned = z.infer<typeof Provisioned>
