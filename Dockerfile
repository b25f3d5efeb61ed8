# One image for every service: compose names the main.ts. Node runs the TypeScript as it is.
FROM node:24-bookworm-slim
WORKDIR /app
ENV NODE_ENV=production
COPY package.json package-lock.json .npmrc ./
COPY shared/package.json shared/
COPY services/orders/package.json services/orders/
COPY services/notifier/package.json services/notifier/
COPY simulator/package.json simulator/
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund && npm cache clean --force
COPY shared shared
COPY services services
COPY simulator simulator
USER node
CMD ["node", "services/orders/main.ts"]
