import { expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { tempFolder } from '../../../tests/harness/temp-folder.ts'
import { readConfig } from '../../core/config.ts'
import { StartupError } from '../../core/errors.ts'
import { showSettings } from '../../core/settings/show.ts'
import { listMisspelt } from '../misspelt.ts'
import { readSettingsFile } from './file.ts'

const LAB = { PROVIDER_LAB_BASE_URL: 'http://10.0.0.5:8000/v1/' }

test('readConfig returns all providers of PROVIDER_<NAME>_BASE_URL, _API_KEY, _LABEL and _DIALECT', () => {
  using folder = tempFolder()
  const file = folder.file('key')
  writeFileSync(file, 'sk-from-a-file\n')
  const { ai } = readConfig({
    ...LAB,
    PROVIDER_MY_VLLM_BASE_URL: 'https://vllm.example.com/v1',
    PROVIDER_MY_VLLM_API_KEY_FILE: file,
    PROVIDER_MY_VLLM_LABEL: 'Our cluster',
    PROVIDER_MY_VLLM_DIALECT: 'chat, messages',
    PROVIDER_NONE_BASE_URL: ' ',
    PROVIDER_API_KEY: 'belongs to an agent',
  })
  expect(ai.customProviders).toEqual([
    { id: 'lab', baseUrl: 'http://10.0.0.5:8000/v1', apiKey: undefined, label: null, dialects: ['chat'] },
    {
      id: 'my-vllm',
      baseUrl: 'https://vllm.example.com/v1',
      apiKey: 'sk-from-a-file',
      label: 'Our cluster',
      dialects: ['chat', 'messages'],
    },
  ])
})

test.each([
  [{ PROVIDER_LAB_API_KEY: 'x' }, 'PROVIDER_LAB_BASE_URL: is missing beside PROVIDER_LAB_API_KEY'],
  [{ PROVIDER_LAB_BASE_URL: 'ftp://lab' }, 'PROVIDER_LAB_BASE_URL: must be an http or https URL'],
  [{ PROVIDER_OPENAI_BASE_URL: 'http://lab/v1' }, 'PROVIDER_OPENAI_BASE_URL: openai has settings of its own'],
  [{ ...LAB, PROVIDER_LAB_DIALECT: 'latin' }, 'PROVIDER_LAB_DIALECT: must be a list of chat, messages, responses'],
  [{ ...LAB, PROVIDER_LAB_API_KEY_FILE: '/nowhere/key' }, 'PROVIDER_LAB_API_KEY_FILE: cannot be read'],
])('readConfig throws StartupError naming the variable when given %j', (environment, message) => {
  expect(() => readConfig(environment)).toThrow(StartupError)
  expect(() => readConfig(environment)).toThrow(message)
})

test('showSettings masks the key of a custom provider, and stead.env and the spelling check accept its names', () => {
  const environment = { ...LAB, PROVIDER_LAB_API_KEY: 'sk-secret-0123456789' }
  expect(showSettings(environment)).toMatchObject({ ...LAB, PROVIDER_LAB_API_KEY: '[set]' })
  expect(listMisspelt(environment)).toEqual([])
  using folder = tempFolder()
  const file = folder.file('stead.env')
  writeFileSync(file, 'PROVIDER_LAB_BASE_URL=http://10.0.0.5:8000/v1\n')
  expect(readSettingsFile(file)).toEqual({ PROVIDER_LAB_BASE_URL: 'http://10.0.0.5:8000/v1' })
})
