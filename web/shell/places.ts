import {
  Bot,
  Boxes,
  CalendarDays,
  ChartColumn,
  CreditCard,
  GraduationCap,
  LayoutDashboard,
  type LucideIcon,
  Radio,
  Settings,
  ShieldCheck,
  UsersRound,
  Waypoints,
} from 'lucide-react'

type Place = {
  to: string
  label: string
  Icon: LucideIcon
  /** Pressed after `g`. */
  key: string
  startsGroup?: boolean
}

export const places = [
  { to: '/', label: 'Overview', Icon: LayoutDashboard, key: 'o' },
  { to: '/agents', label: 'Agents', Icon: Bot, key: 'a' },
  { to: '/cost', label: 'Cost', Icon: ChartColumn, key: 'c' },
] as const satisfies readonly Place[]

/** On small screens these are in the account menu only. */
export const quietPlaces = [
  { to: '/models', label: 'Models', Icon: Boxes, key: 'l', startsGroup: true },
  { to: '/approvals', label: 'Approvals', Icon: ShieldCheck, key: 'p' },
  { to: '/team', label: 'Swarms', Icon: Waypoints, key: 't' },
  { to: '/skills', label: 'Skills', Icon: GraduationCap, key: 'k' },
  { to: '/events', label: 'Events', Icon: CalendarDays, key: 'e' },
  { to: '/media', label: 'Media', Icon: Radio, key: 'd' },
  { to: '/settings', label: 'Settings', Icon: Settings, key: 's', startsGroup: true },
] as const satisfies readonly Place[]

export const adminPlaces = [
  { to: '/admin', label: 'Admin', Icon: UsersRound, key: 'm' },
] as const satisfies readonly Place[]

const billing = { to: '/billing', label: 'Billing', Icon: CreditCard, key: 'b' } as const satisfies Place

export function listKeyedPlaces(isAdmin: boolean) {
  return [...places, ...quietPlaces, billing, ...(isAdmin ? adminPlaces : [])]
}
