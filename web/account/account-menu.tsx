import { useMutation } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import {
  BookOpen,
  CalendarDays,
  GraduationCap,
  LogOut,
  Monitor,
  Moon,
  Radio,
  Settings,
  ShieldCheck,
  Sun,
  UserRound,
  UsersRound,
  Waypoints,
} from 'lucide-react'
import { useState } from 'react'
import { chooseTheme, readTheme, type Theme } from '../shell/theme.ts'
import { Waiting } from '../ui/badge.tsx'
import { Menu, MenuChoices, MenuItem } from '../ui/menu.tsx'
import { signOut } from './session.ts'

const themes: readonly { value: Theme; label: string; Icon: typeof Sun }[] = [
  { value: 'system', label: 'System', Icon: Monitor },
  { value: 'light', label: 'Light', Icon: Sun },
  { value: 'dark', label: 'Dark', Icon: Moon },
]

type AccountMenuProps = {
  user: { email: string; name: string; isAdmin: boolean }
  /** Pending approvals; shown here on screens too small for the navigation entry. */
  waiting: number
}

export function AccountMenu({ user: { email, name, isAdmin }, waiting }: AccountMenuProps) {
  const navigate = useNavigate()
  // A full page load drops everything that this session had cached.
  const leaving = useMutation({ mutationFn: signOut, onSuccess: () => window.location.assign('/login') })
  return (
    <Menu
      side="top"
      trigger={
        <button
          type="button"
          className="flex min-h-9 min-w-0 items-center gap-2.5 rounded-md px-1.5 text-left text-sm hover:bg-sunken data-[state=open]:bg-sunken md:px-2 md:py-1.5"
        >
          <span
            aria-hidden
            className="grid size-7 shrink-0 place-items-center rounded-full bg-accent-soft font-semibold text-accent uppercase"
          >
            {[...(name || email)][0] ?? <UserRound aria-hidden className="size-4" />}
          </span>
          <span className="sr-only">Account </span>
          <span className="min-w-0 truncate text-muted max-md:sr-only">{email}</span>
          <Waiting count={waiting} className="md:hidden" />
        </button>
      }
    >
      <p className="max-w-64 truncate px-2.5 pt-1.5 pb-2 text-sm text-muted">{email}</p>
      <MenuItem Icon={ShieldCheck} onSelect={() => void navigate({ to: '/approvals' })}>
        Approvals
        <Waiting count={waiting} className="ml-auto" />
      </MenuItem>
      <MenuItem Icon={Waypoints} onSelect={() => void navigate({ to: '/team/swarms' })}>
        Teamwork
      </MenuItem>
      <MenuItem Icon={GraduationCap} onSelect={() => void navigate({ to: '/skills' })}>
        Skills
      </MenuItem>
      <MenuItem Icon={CalendarDays} onSelect={() => void navigate({ to: '/events' })}>
        Events
      </MenuItem>
      <MenuItem Icon={Radio} onSelect={() => void navigate({ to: '/media/feeds' })}>
        Media
      </MenuItem>
      <MenuItem Icon={Settings} onSelect={() => void navigate({ to: '/settings' })}>
        Settings
      </MenuItem>
      {isAdmin && (
        <MenuItem Icon={UsersRound} onSelect={() => void navigate({ to: '/admin/users' })}>
          Admin
        </MenuItem>
      )}
      <MenuItem Icon={BookOpen} onSelect={() => window.location.assign('/docs')}>
        Documentation
      </MenuItem>
      <ThemeChoices />
      <MenuItem Icon={LogOut} onSelect={() => leaving.mutate()}>
        {leaving.isError ? 'Sign out (try again)' : 'Sign out'}
      </MenuItem>
    </Menu>
  )
}

function ThemeChoices() {
  const [theme, setTheme] = useState(readTheme)
  return (
    <MenuChoices
      label="Theme"
      value={theme}
      choices={themes}
      onChoose={(next) => {
        chooseTheme(next)
        setTheme(next)
      }}
    />
  )
}
