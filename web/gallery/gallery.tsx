import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from '@tanstack/react-router'
import { Copy, Monitor, Moon, Sun, Trash2 } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { chooseTheme, type Theme } from '../shell/theme.ts'
import { Badge } from '../ui/badge.tsx'
import { Button, IconButton } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { CheckField, PasswordField, SelectField, TextArea, TextField } from '../ui/field.tsx'
import { Pills, SearchField, SortChoice } from '../ui/filters.tsx'
import { LimitBar } from '../ui/limit-bar.tsx'
import { Menu, MenuChoices, MenuItem } from '../ui/menu.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { Moment } from '../ui/moment.tsx'
import { LoadingShapes, LoadProblem, Notice, Skeleton } from '../ui/notice.tsx'
import { cellClass, Empty, Fact, Facts, Panel, Section, TableFrame } from '../ui/panel.tsx'
import { Tabs } from '../ui/tabs.tsx'

const AN_HOUR_AGO = new Date(Date.now() - 3_600_000).toISOString()
const nothing = () => undefined

function Gallery() {
  return (
    <main className="mx-auto grid w-full max-w-5xl grid-cols-1 gap-6 px-4 py-6 sm:px-8 sm:py-10">
      <h1 className="text-2xl font-semibold">Parts</h1>
      <div className="flex">
        <Tabs
          label="Tabs"
          places={[
            { to: '/', label: 'Open' },
            { to: '/agents', label: 'Closed' },
          ]}
        />
      </div>
      <Buttons />
      <Fields />
      <Remarks />
      <Figures />
      <Narrowing />
      <Overlays />
      <Section title="Delete agent" tone="danger" lead="Irreversible actions have a red border.">
        <Button className="justify-self-start">Delete…</Button>
      </Section>
    </main>
  )
}

function Row({ children }: { children: ReactNode }) {
  return <div className="flex flex-wrap items-center gap-2">{children}</div>
}

function Buttons() {
  return (
    <Section title="Buttons" badge={<Badge>One primary button per page</Badge>}>
      <Row>
        <Button look="primary">Primary</Button>
        <Button>Plain</Button>
        <Button look="ghost">Ghost</Button>
        <Button look="danger">Danger</Button>
        <Button isPending>Saving</Button>
        <Button disabled title="Already running">
          Disabled
        </Button>
        <IconButton Icon={Trash2} label="Delete" />
        <CopyButton text="copied" what="word" />
      </Row>
    </Section>
  )
}

function Fields() {
  return (
    <Section title="Fields" lead="Each field has its label above and its error below.">
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
        <TextField label="Name" hint="Only you can see it." />
        <TextField label="Email" error="Enter a valid email address." defaultValue="ada" />
        <PasswordField label="Password" />
        <SelectField label="Expires">
          <option>In 30 days</option>
          <option>Never</option>
        </SelectField>
      </div>
      <CheckField label="Read" hint="Read-only access to everything." />
      <TextArea label="Models, one per line" rows={2} />
      <TextArea label="Purpose" look="prose" rows={2} error="This field is required." />
    </Section>
  )
}

function Remarks() {
  return (
    <Section title="Notices" lead="Success, information, warning and error.">
      <Notice tone="good">Name saved.</Notice>
      <Notice tone="note" title="Radio is not set up">
        Ask your administrator to set it up.
      </Notice>
      <Notice tone="warning" title="This page may be out of date">
        The server is unreachable.
      </Notice>
      <LoadProblem what="agents" error={new Error('The disk is full')} onRetry={nothing} />
      <Empty title="No agents yet">Agents you create appear here.</Empty>
      <LoadingShapes what="example" className="grid grid-cols-1 gap-3">
        <Skeleton className="h-10" />
      </LoadingShapes>
    </Section>
  )
}

function Figures() {
  return (
    <Panel title="Metrics" actions={<Moment at={AN_HOUR_AGO} as="distance" />}>
      <div className="grid grid-cols-1 gap-4 px-4 pb-4">
        <Row>
          <Badge tone="good">Running</Badge>
          <Badge>Stopped</Badge>
          <Badge tone="warning">Starting</Badge>
          <Badge tone="problem">Failed</Badge>
        </Row>
        {[40, 85, 100].map((used) => (
          <LimitBar key={used} label={`Used: ${used}`} used={used} limit={100} note={`${100 - used} left`}>
            Tokens: {used} of 100
          </LimitBar>
        ))}
        <Facts>
          <Fact name="Created">
            <Moment at={AN_HOUR_AGO} as="minute" />
          </Fact>
          <Fact name="Calls">1,234</Fact>
        </Facts>
      </div>
      <TableFrame label="Calls by model" columns={{ Model: 'text', Calls: 'number' }}>
        <tr>
          <td className={cellClass('text')}>openai/gpt-4o-mini</td>
          <td className={cellClass('number')}>1,234</td>
        </tr>
      </TableFrame>
    </Panel>
  )
}

function Narrowing() {
  const [words, setWords] = useState('')
  const [kind, setKind] = useState<string | undefined>(undefined)
  const [sorted, setSorted] = useState<{ sort: 'name' | 'cost'; order: 'asc' | 'desc' | undefined }>({
    sort: 'name',
    order: undefined,
  })
  return (
    <Section title="Filters">
      <Row>
        <SearchField label="Search" placeholder="Name or ID" value={words} maxLength={80} onSearch={setWords} />
        <SortChoice
          words={{ name: 'Name', cost: 'Cost' }}
          sort={sorted.sort}
          order={sorted.order ?? 'asc'}
          onChoose={({ sort, order }) => setSorted({ sort, order })}
        />
      </Row>
      <Pills
        label="Kind"
        value={kind}
        choices={[
          { value: undefined, label: 'All', count: 4 },
          { value: 'running', label: 'Running', count: 3 },
        ]}
        onChoose={setKind}
      />
    </Section>
  )
}

function Overlays() {
  const [isAsking, setAsking] = useState(false)
  const [theme, setTheme] = useState<Theme>('system')
  const choose = (next: Theme) => {
    chooseTheme(next)
    setTheme(next)
  }
  return (
    <Section title="Overlays">
      <Row>
        <Button onClick={() => setAsking(true)}>Confirm…</Button>
        <Menu trigger={<Button>Menu</Button>}>
          <MenuItem Icon={Copy} onSelect={nothing}>
            Copy
          </MenuItem>
          <MenuChoices
            label="Theme"
            value={theme}
            choices={[
              { value: 'system', label: 'System', Icon: Monitor },
              { value: 'light', label: 'Light', Icon: Sun },
              { value: 'dark', label: 'Dark', Icon: Moon },
            ]}
            onChoose={choose}
          />
          <MenuItem Icon={Trash2} tone="danger" onSelect={nothing}>
            Delete
          </MenuItem>
        </Menu>
      </Row>
      {isAsking && (
        <ConfirmDialog
          title="Delete Lovelace?"
          lead="Permanently deletes its files."
          verb="Delete"
          onConfirm={() => setAsking(false)}
          onClose={() => setAsking(false)}
        />
      )}
    </Section>
  )
}

const router = createRouter({
  routeTree: createRootRoute({ component: Gallery }),
  history: createMemoryHistory({ initialEntries: ['/'] }),
})
const root = document.getElementById('root')
if (root) createRoot(root).render(<RouterProvider router={router} />)
