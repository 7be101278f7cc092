import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import type { AgentChannel, ChannelList } from '../../../src/features/agents/channels/schemas.ts'
import type { SecretName, ShownConfig, WebAgent } from '../../../src/features/agents/registry/schemas.ts'
import { Badge } from '../../ui/badge.tsx'
import { Moment } from '../../ui/moment.tsx'
import { LoadProblem, Notice } from '../../ui/notice.tsx'
import { Section } from '../../ui/panel.tsx'
import { SecretSetting } from '../model-sections.tsx'
import { ChannelPeople, Conversations } from './channel-people.tsx'
import { channelsQuery } from './channels-api.ts'

type Token = { name: SecretName; label: string; hint: string }
type Messenger = { name: string; title: string; tokens: readonly Token[]; toLink: (account: string) => string | null }

const MESSENGERS: readonly Messenger[] = [
  {
    name: 'telegram',
    title: 'Telegram',
    tokens: [
      {
        name: 'telegramToken',
        label: 'Telegram bot token',
        hint: 'Send /newbot to @BotFather in Telegram and copy the token it returns.',
      },
    ],
    toLink: (account) => (account.startsWith('@') ? `https://t.me/${account.slice(1)}` : null),
  },
  {
    name: 'discord',
    title: 'Discord',
    tokens: [
      {
        name: 'discordBotToken',
        label: 'Discord bot token',
        hint: 'From the Bot page of your application in the Discord developer portal.',
      },
    ],
    toLink: () => null,
  },
  {
    name: 'slack',
    title: 'Slack',
    tokens: [
      { name: 'slackBotToken', label: 'Slack bot token', hint: 'Starts with xoxb-. Slack needs both tokens.' },
      {
        name: 'slackAppToken',
        label: 'Slack app token',
        hint: 'Starts with xapp-. Needs the scope connections:write.',
      },
    ],
    toLink: () => null,
  },
]

type MessengerSectionsProps = { agent: WebAgent; config: ShownConfig }

export function MessengerSections({ agent, config }: MessengerSectionsProps) {
  const { data, error, refetch } = useQuery(channelsQuery(agent.id))
  return (
    <>
      {!data && error && <LoadProblem what="channels" error={error} onRetry={refetch} />}
      {MESSENGERS.map((messenger) => (
        <MessengerSection key={messenger.name} agent={agent} config={config} messenger={messenger} list={data} />
      ))}
    </>
  )
}

function MessengerSection({
  agent,
  config,
  messenger,
  list,
}: MessengerSectionsProps & { messenger: Messenger; list: ChannelList | undefined }) {
  const { name, title, tokens } = messenger
  const channel = list?.channels.find((one) => one.name === name)
  const isSet = tokens.every((token) => config.secrets[token.name])
  return (
    <Section
      title={title}
      badge={channel && <Badge tone={channel.connected ? 'good' : 'problem'}>{toState(channel)}</Badge>}
      lead="Tokens are encrypted and never shown again."
    >
      {tokens.map((token) => (
        <SecretSetting key={token.name} agent={agent} {...token} isSet={config.secrets[token.name]} />
      ))}
      {isSet &&
        (channel ? <Connected agent={agent} messenger={messenger} channel={channel} /> : toWaiting(agent, list))}
    </Section>
  )
}

function toState({ connected, lastError }: AgentChannel): string {
  if (connected) return 'Connected'
  return lastError ? 'Not connected' : 'Connecting'
}

function toWaiting(agent: WebAgent, list: ChannelList | undefined): ReactNode {
  if (list?.untold === 'openclaw') {
    return <Notice tone="note">OpenClaw runs this bot. Manage pairing in OpenClaw’s own interface.</Notice>
  }
  if (list?.untold === 'not_running') {
    return <Notice tone="warning">{agent.name} is not running. Start it to connect.</Notice>
  }
  return <Notice tone="note">{agent.name} restarts with the new token. This takes a few seconds.</Notice>
}

function Connected({
  agent,
  messenger: { name, title, toLink },
  channel,
}: {
  agent: WebAgent
  messenger: Messenger
  channel: AgentChannel
}) {
  const { connected, since, account, lastError, people, pairings } = channel
  const link = account === null ? null : toLink(account)
  const bot = link ? (
    <a href={link} target="_blank" rel="noreferrer" className="font-medium text-accent underline">
      {account}
    </a>
  ) : (
    <span className="font-medium">{account ?? 'the bot'}</span>
  )
  return (
    <div className="grid grid-cols-1 gap-4 border-t border-line pt-4">
      {account && (
        <p className="text-sm wrap-anywhere">
          Bot: {bot}
          {since && (
            <span className="text-muted">
              {', connected since '}
              <Moment at={since} as="minute" />
            </span>
          )}
        </p>
      )}
      {lastError && (
        <Notice tone={connected ? 'warning' : 'problem'}>
          {lastError.message} (<Moment at={lastError.at} as="distance" />)
        </Notice>
      )}
      {connected && people.length === 0 && (
        <ol className="grid list-decimal gap-1 pl-5 text-sm">
          <li>
            Open {bot} in {title} and send any message.
          </li>
          <li>The bot replies with a pairing code.</li>
          <li>
            {pairings.length === 0
              ? 'Approve the request with the same code here.'
              : 'Compare the codes and approve the request below.'}
          </li>
        </ol>
      )}
      <ChannelPeople agentId={agent.id} channel={channel} title={title} />
      <Conversations agentId={agent.id} channel={name} people={people} />
    </div>
  )
}
