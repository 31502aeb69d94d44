// Limits at the routes of NestJS.
//
//     npm install sluicegate @nestjs/common @nestjs/core @nestjs/platform-express reflect-metadata rxjs
//     npm install --save-dev typescript @types/node
//     npx tsc --experimentalDecorators --module nodenext --lib esnext --types node --outDir built examples/routes/nestjs_routes.mts
//     node built/nestjs_routes.mjs
//     for i in 1 2 3 4; do curl -i -X POST http://localhost:8000/signup; done

import 'reflect-metadata';
// --8<-- [start:limits]
import { Catch, Controller, Get, HttpCode, Module, Param, Post, Req, UseGuards } from '@nestjs/common';
import type { ArgumentsHost, CanActivate, ExceptionFilter, ExecutionContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimiter } from 'sluicegate';
import type { Decision } from 'sluicegate';
import { RateLimit, RateLimitException, RateLimitModule } from 'sluicegate/nestjs';

type Signed = { user?: string; rateLimit: Decision; headers: Record<string, string | undefined> };

const limits = RateLimitModule.forRootAsync({
  useFactory: async () => ({
    // For several processes: redis://localhost/0.
    limiter: await RateLimiter.connect(process.env.LIMITER_URL ?? 'memory://', { rules: [] }),
    name: 'shop',
    userId: (request: Signed) => request.user,
    trustedProxies: Number(process.env.PROXIES ?? 0),
  }),
});
// --8<-- [end:limits]

// --8<-- [start:guard]
/** In place of authentication: `Authorization: Bearer alice` is alice. */
class SignedIn implements CanActivate {
  canActivate(context: ExecutionContext) {
    const request = context.switchToHttp().getRequest<Signed>();
    request.user = request.headers.authorization?.replace(/^Bearer /, '');
    return Boolean(request.user);
  }
}
// --8<-- [end:guard]

// --8<-- [start:plans]
const PLANS: Record<string, number> = { alice: 4 }; // How many exports a day a user has bought.
// --8<-- [end:plans]

@Controller()
class Shop {
  // --8<-- [start:address]
  @Post('signup')
  @HttpCode(200)
  @RateLimit('3/hour')
  signup() {
    return { welcome: 'to the shop' };
  }
  // --8<-- [end:address]

  // --8<-- [start:user]
  @Get('reports/:report')
  @RateLimit(['4/hour', '20/day'])
  @UseGuards(SignedIn)
  report(@Req() request: Signed, @Param('report') report: string) {
    return { report: Number(report), left: request.rateLimit.remaining };
  }
  // --8<-- [end:user]

  // --8<-- [start:plan]
  @Get('exports')
  @RateLimit('2/day', { limit: (request: Signed) => PLANS[request.user ?? ''] })
  @UseGuards(SignedIn)
  exports() {
    return { rows: 250 };
  }
  // --8<-- [end:plan]

  // --8<-- [start:health]
  @Get('health')
  health() {
    return 'well';
  }
  // --8<-- [end:health]
}

// --8<-- [start:denied]
@Catch(RateLimitException)
class TooMany implements ExceptionFilter {
  catch(denied: RateLimitException, host: ArgumentsHost) {
    host.switchToHttp().getResponse().status(denied.getStatus()).json({ error: denied.message });
  }
}
// --8<-- [end:denied]

// --8<-- [start:application]
@Module({ imports: [limits], controllers: [Shop] })
class App {}

const app = await NestFactory.create(App);
app.useGlobalFilters(new TooMany());
await app.listen(process.env.PORT ?? 8000);
// --8<-- [end:application]
console.log(`listening on port ${app.getHttpServer().address().port}`);
