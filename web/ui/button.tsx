import { LoaderCircle, type LucideIcon } from 'lucide-react'
import type { ComponentProps } from 'react'

export type ButtonLook = 'primary' | 'plain' | 'ghost' | 'danger'

const looks: Record<ButtonLook, string> = {
  primary: 'bg-accent text-accent-ink border-transparent hover:bg-accent-hover',
  plain: 'bg-surface text-ink border-line hover:border-edge',
  ghost:
    'bg-transparent text-muted border-transparent hover:bg-sunken hover:text-ink aria-pressed:bg-sunken aria-pressed:text-ink',
  danger: 'bg-bad text-surface border-transparent hover:bg-bad-hover',
}

export function buttonClass(look: ButtonLook): string {
  return `inline-flex min-h-9 items-center justify-center gap-1.5 rounded-md border px-3 text-sm font-medium whitespace-nowrap no-underline transition-colors select-none disabled:cursor-not-allowed disabled:opacity-55 ${looks[look]}`
}

type ButtonProps = ComponentProps<'button'> & { look?: ButtonLook; Icon?: LucideIcon | undefined; isPending?: boolean }

/** While `isPending`, it keeps its focus and ignores presses. */
export function Button({
  look = 'plain',
  Icon,
  isPending = false,
  className = '',
  children,
  onClick,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      aria-disabled={isPending || undefined}
      className={`${buttonClass(look)} ${isPending ? 'cursor-progress' : ''} ${className}`}
      onClick={(event) => (isPending ? event.preventDefault() : onClick?.(event))}
    >
      {isPending ? (
        <LoaderCircle aria-hidden className="size-4 animate-spin" />
      ) : (
        Icon && <Icon aria-hidden className="size-4" />
      )}
      {children}
    </button>
  )
}

type IconButtonProps = Omit<ComponentProps<'button'>, 'aria-label'> & { label: string; Icon?: LucideIcon }

export function IconButton({ label, Icon, className = '', children, ...rest }: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...rest}
      className={`inline-grid size-9 shrink-0 place-items-center rounded-md text-muted transition-colors hover:bg-sunken hover:text-ink data-[state=open]:bg-sunken data-[state=open]:text-ink ${className}`}
    >
      {Icon ? <Icon aria-hidden className="size-4" /> : children}
    </button>
  )
}

type FormButtonsProps = { verb: string; isPending?: boolean; isDisabled?: boolean; onCancel: () => void }

export function FormButtons({ verb, isPending = false, isDisabled = false, onCancel }: FormButtonsProps) {
  return (
    <div className="flex flex-wrap gap-2">
      <Button type="submit" look="primary" isPending={isPending} disabled={isDisabled}>
        {verb}
      </Button>
      <Button look="ghost" onClick={onCancel}>
        Cancel
      </Button>
    </div>
  )
}
