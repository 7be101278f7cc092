import { defineConfig } from 'drizzle-kit'

export default defineConfig({
  dialect: 'sqlite',
  schema: ['./src/features/*/tables.ts', './src/jobs/tables.ts'],
  out: './migrations',
  casing: 'snake_case',
})
