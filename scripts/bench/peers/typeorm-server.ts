/** Peer: NestJS on its fastify adapter, and TypeORM with a repository. */
import 'reflect-metadata';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  Body,
  Controller,
  Get,
  HttpCode,
  Injectable,
  Module,
  NotFoundException,
  Param,
  Post,
  UnauthorizedException,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { InjectRepository, TypeOrmModule } from '@nestjs/typeorm';
import { Column, CreateDateColumn, Entity, Index, PrimaryGeneratedColumn, Repository, Unique } from 'typeorm';
import {
  loadInBatches,
  numberOf,
  pageSize,
  readSettings,
  reportPort,
  toPage,
  toProduct,
  type LoadRequest,
  type StoredProduct,
} from './peer';

const { database, connections, apiKey } = readSettings();

@Entity('products')
@Unique('products_partner_name_sku', ['partnerName', 'sku'])
@Index('products_created_at_id', ['createdAt', 'id'])
class Product implements StoredProduct {
  @PrimaryGeneratedColumn('identity', { generatedIdentity: 'BY DEFAULT' })
  id: number;

  @Column('text', { name: 'partner_name' })
  partnerName: string;

  @Column('text')
  sku: string;

  @Column('text', { name: 'product_name' })
  productName: string;

  @Column('text', { nullable: true })
  description: string | null;

  @Column('text', { nullable: true })
  brand: string | null;

  @Column('text', { nullable: true })
  category: string | null;

  @Column('numeric', { precision: 16, scale: 4, nullable: true })
  price: string | null;

  @Column('text', { nullable: true })
  currency: string | null;

  @Column('text', { nullable: true })
  availability: string | null;

  @CreateDateColumn({ type: 'timestamptz', name: 'created_at' })
  createdAt: Date;
}

@Injectable()
class ProductsService {
  constructor(@InjectRepository(Product) private readonly products: Repository<Product>) {}

  load(request: LoadRequest) {
    return loadInBatches(request, (batch) =>
      this.products.upsert(batch, {
        conflictPaths: ['partnerName', 'sku'],
        skipUpdateIfNoValuesChanged: true,
      }),
    );
  }

  page(): Promise<Product[]> {
    return this.products.find({ order: { createdAt: 'DESC', id: 'DESC' }, take: pageSize + 1 });
  }

  product(id: number): Promise<Product | null> {
    return this.products.findOneBy({ id });
  }
}

@Controller()
class ProductsController {
  constructor(private readonly service: ProductsService) {}

  @Post('loads')
  @HttpCode(200)
  load(@Body() body: LoadRequest) {
    return this.service.load(body);
  }

  @Get('products')
  async page() {
    return toPage(await this.service.page());
  }

  @Get('products/:product_id')
  async product(@Param('product_id') productId: string) {
    const row = await this.service.product(numberOf(productId));
    if (!row) throw new NotFoundException();
    return toProduct(row);
  }
}

@Injectable()
class KeyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    if (headers['x-api-key'] !== apiKey) throw new UnauthorizedException();
    return true;
  }
}

@Module({
  imports: [
    TypeOrmModule.forRoot({
      type: 'postgres',
      host: database.host,
      username: database.user,
      database: database.database,
      poolSize: connections,
      entities: [Product],
    }),
    TypeOrmModule.forFeature([Product]),
  ],
  controllers: [ProductsController],
  providers: [ProductsService, { provide: APP_GUARD, useClass: KeyGuard }],
})
class PeerModule {}

void NestFactory.create<NestFastifyApplication>(PeerModule, new FastifyAdapter(), {
  logger: ['error', 'warn'],
}).then(async (app) => {
  await app.listen(0, '127.0.0.1');
  const server = app.getHttpServer() as Server;
  reportPort((server.address() as AddressInfo).port);
});
