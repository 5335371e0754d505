// Streams and events as the program sees them.
#include "driver.h"

API CUresult cuStreamCreate(CUstream* s, unsigned) {
  Lock l(G.lock);
  if (!current) return CUDA_ERROR_INVALID_CONTEXT;
  if (current->sticky) return (CUresult)current->sticky;
  *s = (CUstream)make_stream(current);
  return CUDA_SUCCESS;
}

API CUresult cuStreamDestroy(CUstream s) {
  Lock l(G.lock);
  if (!current || !current->streams.count((Stream*)s)) return CUDA_ERROR_INVALID_HANDLE;
  end_streams(l, {(Stream*)s});
  if (current->streams.empty()) ptx_profile();  // a device has been closed
  return CUDA_SUCCESS;
}

API CUresult cuStreamSynchronize(CUstream h) {
  Lock l(G.lock);
  Stream* s;
  if (int r = stream_of(h, &s)) return (CUresult)r;
  drain(l, s);
  return (CUresult)s->context->sticky;
}

// An event that was never recorded is nothing to wait for.
API CUresult cuStreamWaitEvent(CUstream h, CUevent e, unsigned) {
  Lock l(G.lock);
  Stream* s;
  if (int r = stream_of(h, &s)) return (CUresult)r;
  if (!e) return CUDA_ERROR_INVALID_HANDLE;
  if (++G.waits == G.config.drop_wait) return CUDA_SUCCESS;
  if (TicketPtr t = ((Event*)e)->ticket) push(s, nullptr, t);
  return CUDA_SUCCESS;
}

API CUresult cuEventCreate(CUevent* e, unsigned flags) {
  if (!current) return CUDA_ERROR_INVALID_CONTEXT;
  if (current->sticky) return (CUresult)current->sticky;
  *e = (CUevent) new Event{nullptr, !(flags & CU_EVENT_DISABLE_TIMING)};
  G.events++;
  return CUDA_SUCCESS;
}

API CUresult cuEventDestroy(CUevent e) {
  delete (Event*)e;
  G.events--;
  return CUDA_SUCCESS;
}

API CUresult cuEventRecord(CUevent e, CUstream h) {
  Lock l(G.lock);
  Stream* s;
  if (int r = stream_of(h, &s)) return (CUresult)r;
  ((Event*)e)->ticket = push(s, nullptr);
  return CUDA_SUCCESS;
}

API CUresult cuEventQuery(CUevent e) {
  Lock l(G.lock);
  TicketPtr t = ((Event*)e)->ticket;
  return t && !t->done ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

API CUresult cuEventSynchronize(CUevent e) {
  Lock l(G.lock);
  if (!current) return CUDA_ERROR_INVALID_CONTEXT;
  if (++G.syncs == G.config.drop_sync) return CUDA_SUCCESS;
  await(l, ((Event*)e)->ticket);
  return (CUresult)current->sticky;
}

API CUresult cuEventElapsedTime(float* ms, CUevent from, CUevent to) {
  Lock l(G.lock);
  auto *a = (Event*)from, *b = (Event*)to;
  if (!a->ticket || !b->ticket || !a->timing || !b->timing) return CUDA_ERROR_INVALID_HANDLE;
  if (!a->ticket->done || !b->ticket->done) return CUDA_ERROR_NOT_READY;
  *ms = (float)((b->ticket->time - a->ticket->time) / 1e3);
  return CUDA_SUCCESS;
}
