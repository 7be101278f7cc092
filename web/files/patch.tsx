/** Renders a unified diff. */
export function Patch({ text, label }: { text: string; label: string }) {
  const lines = text.replace(/\n$/, '').split('\n')
  return (
    // biome-ignore lint/a11y/useSemanticElements: a section per diff would be noise
    <div
      role="group"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
      tabIndex={0}
      className="min-h-0 flex-1 overflow-auto bg-surface py-2 font-mono text-[0.8125rem] leading-5 -outline-offset-2"
    >
      <pre className="min-w-max">
        {lines.map((line, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no stable key and never move
          <span key={index} className={`block px-4 ${lookOf(line)}`}>
            {line || ' '}
          </span>
        ))}
      </pre>
    </div>
  )
}

function lookOf(line: string): string {
  if (/^(\+\+\+|---|diff |index |===|new file|deleted file)/.test(line)) return 'text-muted'
  if (line.startsWith('@@')) return 'bg-sunken text-muted'
  if (line.startsWith('+')) return 'bg-accent-soft text-accent'
  return line.startsWith('-') ? 'bg-bad-soft text-bad' : ''
}
