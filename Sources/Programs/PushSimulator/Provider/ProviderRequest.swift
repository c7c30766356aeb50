import PushLoop

/// One complete request to the provider API, as the transport received it.
struct ProviderRequest {
    let fields: RequestFields
    let body: ByteView
    let stream: Int32
    let receivedAt: WallTime
}
