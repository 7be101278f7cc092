import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { javascript } from '@codemirror/lang-javascript'
import { json } from '@codemirror/lang-json'
import { markdown } from '@codemirror/lang-markdown'
import { python } from '@codemirror/lang-python'
import { yaml } from '@codemirror/lang-yaml'
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language'
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search'
import { EditorState, type Extension } from '@codemirror/state'
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import { useEffect, useRef } from 'react'

type CodeEditorProps = {
  /** Sets the editor's label and language. */
  path: string
  /** Initial text; a new `version` loads it again. */
  text: string
  version: string
  line: number | null
  onChange: (text: string) => void
  onSave: () => void
}

/** Escape, then Tab leaves the editor. Loaded lazily. */
export function CodeEditor({ path, text, version, line, onChange, onSave }: CodeEditorProps) {
  const hostRef = useRef<HTMLDivElement>(null)
  const on = useRef({ onChange, onSave })
  on.current = { onChange, onSave }
  // biome-ignore lint/correctness/useExhaustiveDependencies: only a new version recreates the editor
  useEffect(() => {
    const host = hostRef.current
    if (!host) return
    // In a shadow root, styles are constructed sheets; the content security policy blocks style elements.
    const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
    const save = {
      key: 'Mod-s',
      run: () => {
        on.current.onSave()
        return true
      },
    }
    const view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: text,
        extensions: [
          keymap.of([save, ...searchKeymap, ...historyKeymap, indentWithTab, ...defaultKeymap]),
          ...plain,
          languageOf(path),
          EditorView.contentAttributes.of({ 'aria-label': `Contents of ${path}` }),
          EditorView.updateListener.of(
            ({ docChanged, state }) => docChanged && on.current.onChange(state.doc.toString()),
          ),
        ],
      }),
    })
    if (line !== null) showLine(view, line)
    return () => view.destroy()
  }, [path, version, line])
  return <div ref={hostRef} className="min-h-0 flex-1 overflow-hidden" />
}

function showLine(view: EditorView, line: number): void {
  const { from } = view.state.doc.line(Math.min(line, view.state.doc.lines))
  view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: 'center' }) })
  view.focus()
}

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.typeName, tags.tagName], color: 'var(--accent)' },
  { tag: [tags.string, tags.regexp, tags.attributeName], color: 'var(--warn)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--bad)' },
  { tag: [tags.comment, tags.meta, tags.processingInstruction], color: 'var(--muted)' },
  { tag: [tags.heading, tags.strong], fontWeight: '600' },
  { tag: tags.emphasis, fontStyle: 'italic' },
  { tag: [tags.link, tags.url], color: 'var(--accent)', textDecoration: 'underline' },
])

const look = EditorView.theme({
  '&': { height: '100%', color: 'var(--ink)', backgroundColor: 'var(--surface)', fontSize: '13px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '20px' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--surface)', color: 'var(--muted)', border: 'none' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--sunken) 60%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    background: 'color-mix(in srgb, var(--accent) 28%, transparent)',
  },
  '.cm-panels': { backgroundColor: 'var(--sunken)', color: 'var(--ink)' },
  '.cm-searchMatch': { backgroundColor: 'var(--warn-soft)' },
})

const plain: Extension[] = [
  lineNumbers(),
  history(),
  drawSelection(),
  indentOnInput(),
  bracketMatching(),
  highlightActiveLine(),
  highlightSelectionMatches(),
  search({ top: true }),
  EditorView.lineWrapping,
  syntaxHighlighting(colours),
  look,
]

function languageOf(path: string): Extension {
  const ending = path.split('.').at(-1)?.toLowerCase() ?? ''
  if (['md', 'markdown'].includes(ending)) return markdown()
  if (['json', 'jsonl'].includes(ending)) return json()
  if (ending === 'py') return python()
  if (['yaml', 'yml'].includes(ending)) return yaml()
  if (['js', 'mjs', 'cjs', 'jsx'].includes(ending)) return javascript({ jsx: true })
  return ['ts', 'tsx', 'mts', 'cts'].includes(ending) ? javascript({ typescript: true, jsx: ending === 'tsx' }) : []
}
