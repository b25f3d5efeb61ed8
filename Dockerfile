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
# What Node compiles stays in the image, so that the services start in two thirds of the time. It is kept per user.
ENV NODE_COMPILE_CACHE=/app/.compiled
RUN mkdir .compiled && chown node .compiled
USER node
RUN node --input-type=module -e "for (const name of ['services/orders', 'services/notifier', 'simulator']) await import('/app/' + name + '/app.ts')"
# Node holds less memory back for itself: orders needs a third less at load, and a little more CPU.
ENTRYPOINT ["node", "--max-semi-space-size=8", "--heap-growing-percent=120"]
CMD ["services/orders/main.ts"]
