import { CopyButton } from '../ui/copy-button.tsx'

export function Address({ label, address, what = 'URL' }: { label: string; address: string; what?: string }) {
  return (
    <div className="grid grid-cols-1 gap-1.5">
      <p className="text-sm text-muted">{label}</p>
      <div className="flex flex-wrap items-center gap-2">
        <code className="rounded-md bg-sunken px-2.5 py-1.5 font-mono text-[0.8125rem] break-all">{address}</code>
        <CopyButton text={address} what={what} />
      </div>
    </div>
  )
}
