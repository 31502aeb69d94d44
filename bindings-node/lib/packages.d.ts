// The packages of the platforms: no more than one of them is ever installed.
declare module '@sluicegate/*';
