import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Command } from 'cmdk'
import {
  BookOpen,
  Braces,
  CornerDownRight,
  Keyboard,
  LogOut,
  type LucideIcon,
  Monitor,
  Moon,
  Plus,
  Sun,
} from 'lucide-react'
import type { ReactNode } from 'react'
import { signOut } from '../account/session.ts'
import { listKeyedPlaces } from '../shell/places.ts'
import { chooseTheme, type Theme } from '../shell/theme.ts'

export type PaletteEntry = {
  id: string
  label: string
  mark: ReactNode
  /** Search synonyms. */
  also?: readonly string[]
  detail?: ReactNode
  keys?: readonly string[]
  run: () => void
}

const innerPages = [
  { to: '/agents/new', label: 'Create agent', also: ['new'] },
  { to: '/team/swarms', label: 'Swarms', also: ['team', 'task'] },
  { to: '/team/map', label: 'Agent map', also: ['mission control', 'graph'] },
  { to: '/team/inbox', label: 'Inbox', also: ['mail'] },
  { to: '/media/feeds', label: 'Feeds', also: ['data'] },
  { to: '/media/radio', label: 'Radio', also: ['stream', 'music'] },
  { to: '/media/video', label: 'Video', also: ['film'] },
  { to: '/settings/security', label: 'Security', also: ['password', 'sessions', 'two-factor'] },
  { to: '/settings/notices', label: 'Notifications', also: ['notifications', 'alerts'] },
  { to: '/settings/keys', label: 'API keys', also: ['tokens'] },
  { to: '/settings/wallets', label: 'Wallets', also: ['crypto', 'payments'] },
  { to: '/settings/machines', label: 'Machines', also: ['installations'] },
  { to: '/settings/account', label: 'Account', also: ['email', 'export', 'delete'] },
] as const

const adminPages = [
  { to: '/admin/users', label: 'Users', also: ['accounts'] },
  { to: '/admin/invites', label: 'Invitations', also: ['sign up'] },
  { to: '/admin/plans', label: 'Plans', also: ['limits', 'quota', 'tokens'] },
  { to: '/admin/agents', label: 'All agents', also: ['admin', 'stop'] },
  { to: '/admin/health', label: 'Server health', also: ['mail', 'disk', 'status'] },
  { to: '/admin/jobs', label: 'Jobs', also: ['queue', 'failed'] },
  { to: '/admin/dead-letters', label: 'Dead letters', also: ['failed'] },
  { to: '/admin/cluster', label: 'Cluster', also: ['nodes', 'leader'] },
  { to: '/admin/backups', label: 'Backups', also: ['restore'] },
  { to: '/admin/settings', label: 'Configuration', also: ['configuration', 'environment'] },
  { to: '/admin/logs', label: 'Server logs', also: ['errors', 'debug'] },
  { to: '/admin/audit', label: 'Audit log', also: ['history'] },
  { to: '/admin/services', label: 'Services', also: ['providers', 'keys', 'mail', 'smtp'] },
] as const

const themes: readonly { theme: Theme; label: string; Icon: LucideIcon }[] = [
  { theme: 'light', label: 'Light theme', Icon: Sun },
  { theme: 'dark', label: 'Dark theme', Icon: Moon },
  { theme: 'system', label: 'System theme', Icon: Monitor },
]

export function usePageEntries(
  isAdmin: boolean,
  onShortcuts: () => void,
): { pages: PaletteEntry[]; actions: PaletteEntry[] } {
  const navigate = useNavigate()
  const { mutate: leave } = useMutation({ mutationFn: signOut, onSuccess: () => window.location.assign('/login') })
  const keyed = listKeyedPlaces(isAdmin).map(({ to, label, Icon, key }) => ({
    id: `page ${to}`,
    label,
    mark: <Mark Icon={Icon} />,
    keys: ['g', key],
    run: () => void navigate({ to }),
  }))
  const inner = [...innerPages, ...(isAdmin ? adminPages : [])].map(({ to, label, also }) => ({
    id: `page ${to}`,
    label,
    also,
    mark: <Mark Icon={to === '/agents/new' ? Plus : CornerDownRight} />,
    run: () => void navigate({ to }),
  }))
  const line = (label: string, Icon: LucideIcon, run: () => void, also: readonly string[] = []): PaletteEntry => ({
    id: `action ${label}`,
    label,
    also,
    mark: <Mark Icon={Icon} />,
    run,
  })
  return {
    pages: [...keyed, ...inner],
    actions: [
      ...themes.map(({ theme, label, Icon }) => line(label, Icon, () => chooseTheme(theme), ['colours'])),
      line('Documentation', BookOpen, () => window.location.assign('/docs'), ['help', 'manual']),
      line('API reference', Braces, () => window.location.assign('/docs/api'), ['help', 'http']),
      { ...line('Keyboard shortcuts', Keyboard, onShortcuts, ['keys', 'help']), keys: ['?'] },
      line('Sign out', LogOut, () => leave(), ['leave', 'log out']),
    ],
  }
}

function Mark({ Icon }: { Icon: LucideIcon }) {
  return <Icon aria-hidden className="size-4 shrink-0 text-muted" />
}

type EntriesProps = { heading: string; entries: readonly PaletteEntry[]; onChoose: (entry: PaletteEntry) => void }

export function Entries({ heading, entries, onChoose }: EntriesProps) {
  return (
    <Command.Group
      heading={heading}
      className="[&_[cmdk-group-heading]]:px-2.5 [&_[cmdk-group-heading]]:pt-2 [&_[cmdk-group-heading]]:pb-1 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-muted"
    >
      {entries.map((entry) => (
        <Command.Item
          key={entry.id}
          value={entry.id}
          keywords={[entry.label, ...(entry.also ?? [])]}
          onSelect={() => onChoose(entry)}
          className="flex min-h-10 cursor-pointer items-center gap-3 rounded-md px-2.5 text-sm aria-selected:bg-sunken"
        >
          {entry.mark}
          <span className="min-w-0 flex-1 truncate">{entry.label}</span>
          {entry.detail && <span className="text-xs text-muted">{entry.detail}</span>}
          {entry.keys && <KeyCaps keys={entry.keys} />}
        </Command.Item>
      ))}
    </Command.Group>
  )
}

export function KeyCaps({ keys }: { keys: readonly string[] }) {
  return (
    <span className="flex shrink-0 gap-1">
      {keys.map((key) => (
        <kbd
          key={key}
          className="grid h-5 min-w-5 place-items-center rounded border border-line bg-sunken px-1 font-sans text-xs text-muted"
        >
          {key}
        </kbd>
      ))}
    </span>
  )
}
