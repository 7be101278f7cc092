import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { modelsQuery } from '../agents/agents-api.ts'
import { backendQuery } from '../machines/machines-api.ts'
import { CopyButton } from '../ui/copy-button.tsx'

const languages = ['curl', 'TypeScript', 'Python'] as const
type Language = (typeof languages)[number]

type KeyExamplesProps = {
  secret: string
  /** Models the key may call; null for all. */
  allowed?: readonly string[] | null
}

export function KeyExamples({ secret, allowed = null }: KeyExamplesProps) {
  const [language, setLanguage] = useState<Language>('curl')
  const url = useQuery(backendQuery).data
  const models = useQuery(modelsQuery).data
  const model = allowed?.[0] ?? models?.defaultModel ?? models?.models[0]?.id
  if (!url || !model) return null
  const code = writeExample(language, { url: `${url}/v1`, secret, model })
  return (
    <div className="grid grid-cols-1 gap-2">
      <div className="flex flex-wrap items-center gap-1">
        {languages.map((each) => (
          <button
            key={each}
            type="button"
            aria-pressed={each === language}
            onClick={() => setLanguage(each)}
            className="min-h-8 rounded-md px-2.5 text-sm text-muted hover:text-ink aria-pressed:bg-surface aria-pressed:font-medium aria-pressed:text-ink"
          >
            {each}
          </button>
        ))}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
      <pre tabIndex={0} className="overflow-x-auto rounded-md bg-surface px-2.5 py-2 font-mono text-[0.8125rem]">
        <code>{code}</code>
      </pre>
      <div>
        <CopyButton text={code} what="example" />
      </div>
    </div>
  )
}

type Parts = { url: string; secret: string; model: string }

function writeExample(language: Language, { url, secret, model }: Parts): string {
  if (language === 'curl') {
    return `curl ${url}/chat/completions \\
  -H 'authorization: Bearer ${secret}' \\
  -H 'content-type: application/json' \\
  -d '{"model": "${model}", "messages": [{"role": "user", "content": "Hello"}]}'`
  }
  if (language === 'TypeScript') {
    return `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${url}', apiKey: '${secret}' })
const answer = await client.chat.completions.create({
  model: '${model}',
  messages: [{ role: 'user', content: 'Hello' }],
})
console.log(answer.choices[0]?.message.content)`
  }
  return `from openai import OpenAI

client = OpenAI(base_url="${url}", api_key="${secret}")
answer = client.chat.completions.create(
    model="${model}",
    messages=[{"role": "user", "content": "Hello"}],
)
print(answer.choices[0].message.content)`
}
