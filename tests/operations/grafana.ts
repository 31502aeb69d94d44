// What Grafana's schema, made of its CUE sources, says of a dashboard as JSON: its enumerations are texts there.

import type { Dashboard, Panel } from '@grafana/schema';
import type { PrometheusDataQuery } from '@grafana/schema/dist/esm/raw/composable/prometheus/dataquery/x/PrometheusDataQuery_types.gen';
import type { Options as StatOptions } from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type { FieldConfig, Options as TimeseriesOptions } from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';

type Json<T> = 0 extends 1 & T ? T : T extends string ? `${T}` : T extends object ? { [K in keyof T]: Json<T[K]> } : T;

/** A panel of one kind, whose options and queries are not just anything. */
type PanelOf<Kind extends string, Options, Custom> = Omit<Json<Panel<object, Custom>>, 'type' | 'options' | 'targets'> & {
  type: Kind;
  options: Json<Options>;
  targets: Json<PrometheusDataQuery>[];
};

export type DashboardFile = Omit<Json<Dashboard>, 'panels'> & {
  panels: (PanelOf<'stat', StatOptions, object> | PanelOf<'timeseries', TimeseriesOptions, FieldConfig>)[];
};
