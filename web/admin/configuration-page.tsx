import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import type { SettingsInEffect } from '../../src/features/admin/oversight/schemas.ts'
import { Badge } from '../ui/badge.tsx'
import { Pills, SearchField } from '../ui/filters.tsx'
import { Loaded } from '../ui/notice.tsx'
import { Empty } from '../ui/panel.tsx'
import { AdminFrame } from './admin-frame.tsx'
import { settingsInEffectQuery } from './oversight-api.ts'
import { LoadingRows } from './paging.tsx'

const route = getRouteApi('/signed-in/admin/settings')

type Setting = SettingsInEffect['settings'][number]

const SOURCES: Record<Setting['source'], string> = {
  flag: 'flag',
  environment: 'environment',
  file: 'stead.env',
  'secret-file': 'secret file',
  default: 'default',
  none: 'not set',
}

/** Page `/admin/settings`. */
export function ConfigurationPage() {
  const query = useQuery(settingsInEffectQuery)
  return (
    <AdminFrame title="Configuration" lead="Precedence: flags, environment, stead.env. Changes apply after a restart.">
      <Loaded query={query} what="settings" placeholder={<LoadingRows what="settings" />}>
        {(settings) => <Settings settings={settings} />}
      </Loaded>
    </AdminFrame>
  )
}

function Settings({ settings }: { settings: Setting[] }) {
  const { search = '', show } = route.useSearch()
  const navigate = useNavigate()
  const given = settings.filter(isGiven)
  const shown = (show === 'given' ? given : settings).filter((setting) => isFound(setting, search.toLowerCase()))
  const change = (part: { search?: string | undefined; show?: 'given' | undefined }) =>
    void navigate({ to: '/admin/settings', search: { ...(search && { search }), show, ...part }, replace: true })
  return (
    <>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-3">
        <SearchField
          label="Search settings"
          placeholder="Name, value or description"
          value={search}
          maxLength={100}
          shortcut="/"
          onSearch={(words) => change({ search: words || undefined })}
          className="min-w-56 flex-1 sm:max-w-md"
        />
        <Pills
          label="Show"
          value={show}
          choices={[
            { value: undefined, label: 'All', count: settings.length },
            { value: 'given', label: 'Changed', count: given.length },
          ]}
          onChoose={(value) => change({ show: value })}
        />
      </div>
      {shown.length === 0 && (
        <Empty>{search ? `No settings match “${search}”.` : 'All settings have their default values.'}</Empty>
      )}
      {[...Map.groupBy(shown, ({ group }) => group)].map(([group, members]) => (
        <section key={group} className="grid grid-cols-1 gap-2">
          <h2 className="font-semibold">{group}</h2>
          <ul aria-label={group} className="divide-y divide-line rounded-xl border border-line bg-surface">
            {members.map((setting) => (
              <SettingRow key={setting.name} setting={setting} />
            ))}
          </ul>
        </section>
      ))}
    </>
  )
}

function SettingRow({ setting }: { setting: Setting }) {
  const { name, description, value, isSecret, source } = setting
  return (
    <li className="grid grid-cols-1 gap-x-6 gap-y-1 px-3 py-3 sm:px-4 lg:grid-cols-[minmax(0,1fr)_minmax(0,1fr)]">
      <div className="grid min-w-0 grid-cols-1 content-start gap-0.5">
        <p className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
          <span className="font-mono text-sm font-medium break-all">{name}</span>
          <Badge tone={isGiven(setting) ? 'good' : 'plain'}>{SOURCES[source]}</Badge>
        </p>
        <p className="text-sm text-muted">{markCode(description)}</p>
      </div>
      <p className="min-w-0 font-mono text-sm wrap-anywhere lg:text-right">
        <Value value={value} isSecret={isSecret} />
      </p>
    </li>
  )
}

/** Renders text between backticks as code. */
function markCode(text: string): ReactNode[] {
  return text.split('`').map((part, index) =>
    index % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text have no stable key
      <code key={index} className="font-mono text-[0.8125rem]">
        {part}
      </code>
    ) : (
      part
    ),
  )
}

function Value({ value, isSecret }: { value: string | null; isSecret: boolean }) {
  if (value === null || value === '') return <span className="text-muted">{value === null ? '—' : 'empty'}</span>
  return isSecret && value === '[set]' ? <span className="text-muted">set (hidden)</span> : value
}

function isGiven({ source }: Setting): boolean {
  return source !== 'default' && source !== 'none'
}

function isFound({ name, description, value }: Setting, words: string): boolean {
  return [name, description, value ?? ''].some((text) => text.toLowerCase().includes(words))
}
