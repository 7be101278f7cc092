import { useMutation } from '@tanstack/react-query'
import { type SyntheticEvent, useState } from 'react'
import type { McpServerTools } from '../../src/features/conversations/mcp-servers/schemas.ts'
import { messageFor } from '../api/request.ts'
import { Button } from '../ui/button.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Notice } from '../ui/notice.tsx'
import { Patience } from '../ui/patience.tsx'
import { TextArea } from '../ui/text-area.tsx'
import { listArguments, readArguments, type ToolArgument } from './tool-arguments.ts'
import { tryTool } from './tools-api.ts'

type TryToolProps = { agentId: string; serverId: string; tools: McpServerTools['tools'] }

export function TryTool({ agentId, serverId, tools }: TryToolProps) {
  const [name, setName] = useState(tools[0]?.name ?? '')
  const tool = tools.find((each) => each.name === name)
  if (!tool) return null
  return (
    <div className="grid grid-cols-1 gap-3 rounded-lg bg-sunken p-3">
      <SelectField label="Try a tool" value={name} onChange={({ target }) => setName(target.value)}>
        {tools.map((each) => (
          <option key={each.name}>{each.name}</option>
        ))}
      </SelectField>
      <TryForm key={name} agentId={agentId} serverId={serverId} tool={tool} />
    </div>
  )
}

type TryFormProps = { agentId: string; serverId: string; tool: McpServerTools['tools'][number] }

function TryForm({ agentId, serverId, tool }: TryFormProps) {
  const wanted = listArguments(tool.inputSchema)
  const [problems, setProblems] = useState<Record<string, string>>({})
  const trial = useMutation({
    mutationFn: (input: Record<string, unknown>) => tryTool(agentId, serverId, tool.name, input),
  })
  const submit = (event: SyntheticEvent<HTMLFormElement>) => {
    event.preventDefault()
    const values = Object.fromEntries(
      [...new FormData(event.currentTarget)].map(([key, value]) => [key, String(value)]),
    )
    const read = readArguments(wanted, values)
    setProblems(read.problems)
    if (Object.keys(read.problems).length === 0 && !trial.isPending) trial.mutate(read.input)
  }
  return (
    <form onSubmit={submit} noValidate className="grid grid-cols-1 gap-3">
      {tool.description && <p className="text-sm text-muted">{tool.description.slice(0, 300)}</p>}
      {wanted.map((argument) => (
        <ArgumentField key={argument.name} argument={argument} error={problems[argument.name]} />
      ))}
      <div className="flex flex-wrap items-center gap-3">
        <Button type="submit" isPending={trial.isPending}>
          Run tool
        </Button>
        <p className="text-sm text-muted">Runs the tool for real, as the agent would.</p>
      </div>
      <Patience isPending={trial.isPending}>Running. Times out after 30 seconds.</Patience>
      {trial.error && (
        <Notice tone="problem" title="Could not run the tool">
          {messageFor(trial.error)}
        </Notice>
      )}
      {trial.data && (
        <div role="status" className="grid grid-cols-1 gap-1.5">
          <p className={`text-sm font-medium ${trial.data.isError ? 'text-bad' : ''}`}>
            {trial.data.isError ? 'The tool returned an error' : 'Result'}
          </p>
          <pre
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
            tabIndex={0}
            className="max-h-80 overflow-auto rounded-md bg-surface px-3 py-2 text-xs whitespace-pre-wrap wrap-anywhere"
          >
            {trial.data.text || 'No output.'}
          </pre>
        </div>
      )}
    </form>
  )
}

function ArgumentField({ argument, error }: { argument: ToolArgument; error: string | undefined }) {
  const { name, kind, isRequired, description, choices } = argument
  const label = isRequired ? name : `${name} (optional)`
  const hint = description || undefined
  if (kind === 'json') return <TextArea label={`${label}, as JSON`} name={name} rows={3} error={error} />
  if (kind === 'text' || kind === 'number') {
    const mode = kind === 'number' ? 'decimal' : 'text'
    return <TextField label={label} name={name} hint={hint} inputMode={mode} autoComplete="off" error={error} />
  }
  return (
    <SelectField label={label} name={name} hint={hint} error={error}>
      {(!isRequired || kind === 'choice') && <option value="">–</option>}
      {(kind === 'boolean' ? ['true', 'false'] : choices).map((choice) => (
        <option key={choice}>{choice}</option>
      ))}
    </SelectField>
  )
}
