import { useQueryClient } from '@tanstack/react-query'
import { z } from 'zod'
import { SectionForm } from '../settings/section-form.tsx'
import { TextField } from '../ui/field.tsx'
import { useForm } from '../ui/form.ts'
import { TextArea } from '../ui/text-area.tsx'
import { addServer } from './tools-api.ts'

const toLines = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)

const CommandForm = z.object({
  name: z.string().trim().min(1, 'Enter a name'),
  command: z.string().trim().min(1, 'Enter a program'),
  args: z.string().transform(toLines),
  environment: z
    .string()
    .transform(toLines)
    .refine((lines) => lines.every((line) => line.indexOf('=') > 0), 'Enter one NAME=value per line')
    .transform((lines) =>
      Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)])),
    ),
})

export function NewCommand({ agentId }: { agentId: string }) {
  const client = useQueryClient()
  const form = useForm(
    CommandForm,
    async (server) => {
      await addServer(client, agentId, server)
      form.formRef.current?.reset()
    },
    () => null,
  )
  const problems = form.problem?.fields
  return (
    <details className="text-sm">
      <summary className="cursor-pointer py-2 font-medium">Run a server from a command</summary>
      <p className="mb-3 text-muted">
        Runs inside the agent’s container, so it requires a container. The program bun is always available. Removing the
        server replaces the agent’s token and restarts it.
      </p>
      <SectionForm form={form} action="Add command">
        <div className="grid grid-cols-1 gap-4 sm:grid-cols-2">
          <TextField label="Server name" name="name" autoComplete="off" placeholder="notes" error={problems?.name} />
          <TextField label="Program" name="command" autoComplete="off" placeholder="bun" error={problems?.command} />
        </div>
        <TextArea label="Arguments, one per line" name="args" rows={3} placeholder={'x\nsome-mcp-server'} />
        <TextArea
          label="Environment variables, one NAME=value per line. Encrypted."
          name="environment"
          rows={2}
          error={problems?.environment}
        />
      </SectionForm>
    </details>
  )
}
