import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { oneOf } from '../../../db/checks.ts'
import { agents } from '../registry/tables.ts'

/** Channels that the platform serves; messengers run inside the agent. */
export const PLATFORM_CHANNELS = ['mail'] as const
export type PlatformChannel = (typeof PLATFORM_CHANNELS)[number]

const agentId = () =>
  text()
    .notNull()
    .references(() => agents.id, { onDelete: 'cascade' })

/** A channel that an agent has had; `since` is null while it is off. */
export const agentChannels = sqliteTable(
  'agent_channels',
  {
    agentId: agentId(),
    name: text({ enum: PLATFORM_CHANNELS }).notNull(),
    since: integer({ mode: 'timestamp_ms' }),
    lastError: text(),
    lastErrorAt: integer({ mode: 'timestamp_ms' }),
  },
  (table) => [
    primaryKey({ columns: [table.agentId, table.name] }),
    oneOf('agent_channels_name', table.name, PLATFORM_CHANNELS),
  ],
)
export type AgentChannelRow = typeof agentChannels.$inferSelect

/** People who may write to an agent on a platform channel; `personId` is a lower-case mail address. */
export const channelPeople = sqliteTable(
  'channel_people',
  {
    agentId: agentId(),
    channel: text({ enum: PLATFORM_CHANNELS }).notNull(),
    personId: text().notNull(),
    name: text().notNull(),
    since: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.agentId, table.channel, table.personId] }),
    oneOf('channel_people_channel', table.channel, PLATFORM_CHANNELS),
  ],
)

/** People who received a pairing code. A denied person gets no other code until this one expires. */
export const channelPairings = sqliteTable(
  'channel_pairings',
  {
    agentId: agentId(),
    channel: text({ enum: PLATFORM_CHANNELS }).notNull(),
    personId: text().notNull(),
    name: text().notNull(),
    code: text().notNull(),
    isDenied: integer({ mode: 'boolean' }).notNull().default(false),
    expiresAt: integer({ mode: 'timestamp_ms' }).notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.agentId, table.channel, table.personId] }),
    index('channel_pairings_by_time').on(table.expiresAt),
    oneOf('channel_pairings_channel', table.channel, PLATFORM_CHANNELS),
  ],
)
export type ChannelPairingRow = typeof channelPairings.$inferSelect
