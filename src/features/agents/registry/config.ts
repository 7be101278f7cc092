import { eq } from 'drizzle-orm'
import type { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import type { Sealer, SealPurpose } from '../../../core/secrets.ts'
import type { Tx } from '../../../db/open.ts'
import {
  type ChosenSettings,
  PlainSettings,
  SECRET_NAMES,
  type SecretName,
  SecretSettings,
  type ShownConfig,
} from './schemas.ts'
import { type AgentRow, agents } from './tables.ts'

const StoredSecrets = SecretSettings.partial()
type Secrets = z.infer<typeof StoredSecrets>

/** All settings of an agent, with its secrets in plain text. */
export type AgentSettings = Pick<AgentRow, 'model' | 'aiProvider' | 'plan'> & { plain: PlainSettings; secrets: Secrets }

/** A change of settings: null removes one, undefined keeps it. */
export type SettingsChange = Omit<z.infer<typeof ChosenSettings>, 'aiProvider'> &
  Pick<PlainSettings, 'subscriptionId' | 'email'> & { aiProvider?: string | undefined }

const PLAIN_NAMES = PlainSettings.keyof().options
/** File name of each secret inside the agent; the agent never gets `webhookUrl`. */
const SECRET_FILES: Readonly<Partial<Record<SecretName, string>>> = {
  apiKey: 'PROVIDER_API_KEY',
  telegramToken: 'TELEGRAM_TOKEN',
  discordBotToken: 'DISCORD_TOKEN',
  whatsappToken: 'WHATSAPP_TOKEN',
  slackBotToken: 'SLACK_BOT_TOKEN',
  slackAppToken: 'SLACK_APP_TOKEN',
}

/** Returns an agent's settings for its owner; secrets only as set or not. */
export function showConfig(sealer: Sealer, agent: AgentRow): ShownConfig {
  const secrets = openSecrets(sealer, agent)
  const { email: _email, ...plain } = readPlain(agent)
  return {
    plan: agent.plan,
    aiProvider: agent.aiProvider,
    model: agent.model,
    ...plain,
    ...(secrets.webhookUrl && { webhookUrl: new URL(secrets.webhookUrl).origin }),
    secrets: {
      apiKey: secrets.apiKey !== undefined,
      telegramToken: secrets.telegramToken !== undefined,
      discordBotToken: secrets.discordBotToken !== undefined,
      whatsappToken: secrets.whatsappToken !== undefined,
      slackBotToken: secrets.slackBotToken !== undefined,
      slackAppToken: secrets.slackAppToken !== undefined,
      webhookUrl: secrets.webhookUrl !== undefined,
    },
  }
}

/** Returns the webhook for messages to an agent, which may contain a secret; null without one. */
export function findWebhookUrl(sealer: Sealer, agent: AgentRow): string | null {
  return openSecrets(sealer, agent).webhookUrl ?? null
}

export type SpecSettings = { environment: Record<string, string>; secrets: Record<string, string> }

/**
 * Returns the environment and secrets of an agent's spec. `AI_PROVIDER` names the provider of the key, so it needs
 * one.
 */
export function agentSettings(sealer: Sealer, agent: AgentRow): SpecSettings {
  const plain = readPlain(agent)
  const secrets = toSecretFiles(openSecrets(sealer, agent))
  return {
    environment: {
      AGENT_PLAN: agent.plan,
      ...(plain.telegramUserId && { TELEGRAM_USER_ID: plain.telegramUserId }),
      ...(plain.ownerIds?.length && { OWNER_IDS: plain.ownerIds.join(',') }),
      ...(plain.skills?.length && { SKILLS: plain.skills.join(',') }),
      ...(plain.template && { TEMPLATE: plain.template }),
      ...(secrets.PROVIDER_API_KEY && { AI_PROVIDER: agent.aiProvider }),
    },
    secrets,
  }
}

/** Maps secrets to file names. */
function toSecretFiles(opened: ReturnType<typeof openSecrets>): Record<string, string> {
  const secrets: Record<string, string> = {}
  for (const name of SECRET_NAMES) {
    const [file, value] = [SECRET_FILES[name], opened[name]]
    if (file && value !== undefined) secrets[file] = value
  }
  return secrets
}

/** Returns whether the agent has a messenger's token. */
export function hasMessenger(sealer: Sealer, agent: AgentRow): boolean {
  const { apiKey: _apiKey, webhookUrl: _webhookUrl, ...tokens } = openSecrets(sealer, agent)
  return Object.keys(tokens).length > 0
}

/** Returns whether an agent has its own provider key. */
export function hasProviderKey(sealer: Sealer, agent: AgentRow): boolean {
  return openSecrets(sealer, agent).apiKey !== undefined
}

/** Returns the name of the template that an agent was created from; null without one. */
export function findTemplate(agent: Pick<AgentRow, 'config'>): string | null {
  return readPlain(agent).template ?? null
}

/** Returns whether the owner wants the agent to stay awake. */
export function hasToStayAwake(agent: AgentRow): boolean {
  return readPlain(agent).neverSleeps === true
}

/** Returns the owner's ids on a channel, from the agent's settings. */
export function listOwnerIds(agent: AgentRow, channel: string): string[] {
  const { ownerIds = [], telegramUserId } = readPlain(agent)
  return channel === 'telegram' && telegramUserId !== undefined ? [telegramUserId, ...ownerIds] : ownerIds
}

/** Returns which channels have a token. */
export function listTokenChannels(
  sealer: Sealer,
  agent: AgentRow,
): Record<'telegram' | 'discord' | 'whatsapp', boolean> {
  const { telegramToken, discordBotToken, whatsappToken } = openSecrets(sealer, agent)
  return {
    telegram: telegramToken !== undefined,
    discord: discordBotToken !== undefined,
    whatsapp: whatsappToken !== undefined,
  }
}

/** Merges a change of settings into the current row, so that concurrent changes of different settings all apply. */
export function changeSettings(
  deps: { clock: Clock; sealer: Sealer },
  tx: Tx,
  agent: AgentRow,
  change: SettingsChange,
): AgentRow {
  const plain: Record<string, unknown> = { ...readPlain(agent) }
  for (const name of PLAIN_NAMES) assign(plain, name, change[name])
  const before = openSecrets(deps.sealer, agent)
  const secrets: Record<string, unknown> = { ...before }
  for (const name of SECRET_NAMES) if (!isShown(name, change, before)) assign(secrets, name, change[name])
  return writeSettings(deps, tx, agent, {
    model: change.model ?? agent.model,
    aiProvider: change.aiProvider ?? agent.aiProvider,
    plan: change.plan ?? agent.plan,
    plain,
    secrets,
  })
}

/** Returns all settings of an agent. */
export function readAgentSettings(sealer: Sealer, agent: AgentRow): AgentSettings {
  const { model, aiProvider, plan } = agent
  return { model, aiProvider, plan, plain: readPlain(agent), secrets: openSecrets(sealer, agent) }
}

/** Replaces all settings of an agent. */
export function writeSettings(
  deps: { clock: Clock; sealer: Sealer },
  tx: Tx,
  agent: AgentRow,
  { model, aiProvider, plan, plain, secrets }: AgentSettings,
): AgentRow {
  const isAnySet = Object.keys(secrets).length > 0
  const changed = {
    model,
    aiProvider,
    plan,
    config: JSON.stringify(plain),
    secretConfig: isAnySet ? deps.sealer.seal(JSON.stringify(secrets), purposeOf(agent.id)) : null,
    updatedAt: deps.clock.now(),
  }
  tx.update(agents).set(changed).where(eq(agents.id, agent.id)).run()
  return { ...agent, ...changed }
}

/** A client that sends back the returned origin does not intend to shorten the URL. */
function isShown(name: SecretName, change: SettingsChange, { webhookUrl }: Secrets): boolean {
  return name === 'webhookUrl' && webhookUrl !== undefined && change.webhookUrl === new URL(webhookUrl).origin
}

function assign(settings: Record<string, unknown>, name: string, value: unknown): void {
  if (value === null) delete settings[name]
  else if (value !== undefined) settings[name] = value
}

function readPlain(agent: Pick<AgentRow, 'config'>): PlainSettings {
  return PlainSettings.parse(JSON.parse(agent.config))
}

function openSecrets(sealer: Sealer, agent: AgentRow): Secrets {
  if (agent.secretConfig === null) return {}
  return StoredSecrets.parse(JSON.parse(sealer.unseal(agent.secretConfig, purposeOf(agent.id))))
}

function purposeOf(id: string): SealPurpose {
  return `agents:secretConfig:${id}`
}
