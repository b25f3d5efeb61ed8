// The containers' health check: node services/health.mjs PORT
const response = await fetch(`http://127.0.0.1:${process.argv[2]}/health/ready`).catch(() => undefined)
process.exit(response?.ok ? 0 : 1)
