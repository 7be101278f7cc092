import { useNavigate } from '@tanstack/react-router'
import {
  Activity,
  Ellipsis,
  MessageSquare,
  Play,
  RotateCw,
  ScrollText,
  SlidersHorizontal,
  Square,
  Tags,
  Trash2,
} from 'lucide-react'
import { type SyntheticEvent, useRef, useState } from 'react'
import type { WebAgent } from '../../src/features/agents/registry/schemas.ts'
import { IconButton } from '../ui/button.tsx'
import { TextField } from '../ui/field.tsx'
import { Menu, MenuItem } from '../ui/menu.tsx'
import { ConfirmDialog } from '../ui/modal.tsx'
import { canChange, isOnOwnMachine, type useChangeAgent, useDeleteAgent } from './agents-api.ts'

const pages = [
  { to: '/agents/$agentId/overview', label: 'Overview', Icon: Activity },
  { to: '/agents/$agentId/logs', label: 'Logs', Icon: ScrollText },
  { to: '/agents/$agentId/settings', label: 'Settings', Icon: SlidersHorizontal },
] as const

const powers = [
  { verb: 'start', label: 'Start', Icon: Play },
  { verb: 'stop', label: 'Stop', Icon: Square },
  { verb: 'restart', label: 'Restart', Icon: RotateCw },
] as const

type AgentMenuProps = {
  agent: Pick<WebAgent, 'id' | 'name' | 'status'> & { runtime: string | null }
  change: ReturnType<typeof useChangeAgent>
  isOpenOffered?: boolean
  isOpenAtFirst?: boolean
  /** Offers to edit its labels. */
  onLabels?: () => void
  onDeleted?: () => void
}

export function AgentMenu({
  agent,
  change,
  isOpenOffered = true,
  isOpenAtFirst = false,
  onLabels,
  onDeleted,
}: AgentMenuProps) {
  const navigate = useNavigate()
  const triggerRef = useRef<HTMLButtonElement>(null)
  const [isAsking, setAsking] = useState(false)
  const isBlocked = (verb: 'start' | 'stop' | 'restart') => change.isPending || !canChange(agent.status, verb)
  return (
    <>
      <Menu
        trigger={<IconButton Icon={Ellipsis} ref={triggerRef} label={`Actions for ${agent.name}`} />}
        isOpenAtFirst={isOpenAtFirst}
        onCloseFocus={(event) => isAsking && event.preventDefault()}
      >
        {isOpenOffered && (
          <MenuItem
            Icon={MessageSquare}
            onSelect={() => void navigate({ to: '/agents/$agentId', params: { agentId: agent.id } })}
          >
            Open chat
          </MenuItem>
        )}
        {isOpenOffered &&
          pages.map(({ to, label, Icon }) => (
            <MenuItem key={to} Icon={Icon} onSelect={() => void navigate({ to, params: { agentId: agent.id } })}>
              {label}
            </MenuItem>
          ))}
        {!isOnOwnMachine(agent) &&
          powers.map(({ verb, label, Icon }) => (
            <MenuItem key={verb} Icon={Icon} isDisabled={isBlocked(verb)} onSelect={() => change.mutate(verb)}>
              {label}
            </MenuItem>
          ))}
        {onLabels && (
          <MenuItem Icon={Tags} onSelect={onLabels}>
            Labels
          </MenuItem>
        )}
        <MenuItem Icon={Trash2} tone="danger" onSelect={() => setAsking(true)}>
          Delete
        </MenuItem>
      </Menu>
      {isAsking && (
        <DeleteDialog
          agent={agent}
          onClose={() => setAsking(false)}
          onDeleted={() => onDeleted?.()}
          onCloseFocus={(event) => {
            event.preventDefault()
            focusAfterClose(triggerRef.current)
          }}
        />
      )}
    </>
  )
}

/** Creates the menu only when its button is pressed, because lists can hold thousands of agents. */
export function LazyAgentMenu(props: AgentMenuProps) {
  const [isMade, setMade] = useState(false)
  if (isMade) return <AgentMenu {...props} isOpenAtFirst />
  return (
    <IconButton
      Icon={Ellipsis}
      label={`Actions for ${props.agent.name}`}
      aria-haspopup="menu"
      onClick={() => setMade(true)}
    />
  )
}

/** Returns the focus to the menu button, or to the page title when the row is gone. */
function focusAfterClose(trigger: HTMLElement | null): void {
  const target = trigger?.isConnected ? trigger : document.querySelector('h1')
  target?.focus()
}

type DeleteDialogProps = {
  agent: { id: string; name: string }
  onClose: () => void
  onDeleted: () => void
  onCloseFocus?: (event: Event) => void
}

export function DeleteDialog({ agent, onClose, onDeleted, onCloseFocus }: DeleteDialogProps) {
  const removal = useDeleteAgent(agent.id)
  const [typed, setTyped] = useState('')
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const confirm = () => {
    // Enter submits the form too, also while the request is running.
    if (removal.isPending) return
    if (typed.trim() !== agent.name.trim()) return setProblem(`Enter the exact name: ${agent.name}`)
    removal.mutate(undefined, { onSuccess: onDeleted })
  }
  const onSubmit = (event: SyntheticEvent) => {
    event.preventDefault()
    confirm()
  }
  return (
    <ConfirmDialog
      title={`Delete ${agent.name}?`}
      lead="Stops the agent and permanently deletes its files, memory and conversations. Cost records are kept."
      verb="Delete agent"
      isPending={removal.isPending}
      error={removal.error}
      onConfirm={confirm}
      onClose={onClose}
      {...(onCloseFocus && { onCloseFocus })}
    >
      <form onSubmit={onSubmit}>
        <TextField
          label={`Type ${agent.name} to confirm`}
          value={typed}
          error={problem}
          spellCheck={false}
          data-autofocus
          onChange={({ target }) => {
            setTyped(target.value)
            setProblem(undefined)
          }}
        />
      </form>
    </ConfirmDialog>
  )
}
