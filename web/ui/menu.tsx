import type { LucideIcon } from 'lucide-react'
import { DropdownMenu } from 'radix-ui'
import type { ReactElement, ReactNode } from 'react'

type MenuProps = {
  trigger: ReactElement
  side?: 'top' | 'bottom'
  /** Opens immediately: its button was pressed before the menu existed. */
  isOpenAtFirst?: boolean
  onCloseFocus?: (event: Event) => void
  children: ReactNode
}

/** Not modal: a modal menu locks scrolling with a style element, which the content security policy blocks. */
export function Menu({ trigger, side = 'bottom', isOpenAtFirst = false, onCloseFocus, children }: MenuProps) {
  return (
    <DropdownMenu.Root modal={false} defaultOpen={isOpenAtFirst}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          side={side}
          align="end"
          sideOffset={6}
          collisionPadding={8}
          {...(onCloseFocus ? { onCloseAutoFocus: onCloseFocus } : {})}
          className="z-40 min-w-48 animate-rise rounded-lg border border-line bg-surface p-1 shadow-lifted"
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

type MenuItemProps = {
  Icon: LucideIcon
  tone?: 'plain' | 'danger'
  isDisabled?: boolean
  onSelect: () => void
  children: ReactNode
}

export function MenuItem({ Icon, tone = 'plain', isDisabled = false, onSelect, children }: MenuItemProps) {
  return (
    <DropdownMenu.Item
      disabled={isDisabled}
      onSelect={onSelect}
      className={`flex min-h-9 items-center gap-2.5 rounded-md px-2.5 text-sm -outline-offset-2 data-disabled:cursor-not-allowed data-disabled:opacity-50 data-highlighted:bg-sunken ${tone === 'danger' ? 'text-bad' : 'text-ink'}`}
    >
      <Icon aria-hidden className="size-4 shrink-0" />
      {children}
    </DropdownMenu.Item>
  )
}

type MenuChoicesProps<Value extends string> = {
  label: string
  value: Value
  choices: readonly { value: Value; label: string; Icon: LucideIcon }[]
  onChoose: (value: Value) => void
}

export function MenuChoices<Value extends string>({ label, value, choices, onChoose }: MenuChoicesProps<Value>) {
  return (
    <DropdownMenu.RadioGroup
      value={value}
      aria-label={label}
      className="my-1 flex gap-1 border-y border-line px-1 py-1.5"
    >
      {choices.map((choice) => (
        <DropdownMenu.RadioItem
          key={choice.value}
          value={choice.value}
          onSelect={(event) => {
            event.preventDefault()
            onChoose(choice.value)
          }}
          className="flex min-h-9 flex-1 items-center justify-center gap-1.5 rounded-md px-2 text-sm text-muted -outline-offset-2 data-highlighted:bg-sunken data-[state=checked]:bg-accent-soft data-[state=checked]:text-ink"
        >
          <choice.Icon aria-hidden className="size-4" />
          {choice.label}
        </DropdownMenu.RadioItem>
      ))}
    </DropdownMenu.RadioGroup>
  )
}
