import { defineConfig } from 'drizzle-kit'

export default defineConfig({
  dialect: 'sqlite',
  schema: ['./src/features/*/*/tables.ts', './src/jobs/tables.ts', './src/http/tables.ts'],
  out: './migrations',
  casing: 'snake_case',
})
