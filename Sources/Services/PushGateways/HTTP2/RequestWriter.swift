package import PushModel
package import PushTransport

/// Writes the requests of one push service and reads its answers, for one HTTP/2 session, on its loop.
package protocol RequestWriter: AnyObject {
    /// Uses this token for later requests.
    func use(_ token: ProviderToken)

    /// Returns the request for a delivery. It is valid until the next call.
    func request(for delivery: borrowing Delivery) -> WrittenRequest

    /// Returns what an answer says about its delivery.
    func result(of response: HTTP2Response) -> AttemptResult

    /// Returns the reason in the debug data of a GOAWAY frame; nil if it has none.
    func reason(ofGoAway data: [UInt8]) -> ProviderReason?
}

/// One request, in memory that its writer owns.
@safe
package struct WrittenRequest {
    package let fields: HTTP2PreparedRequest
    /// The values of the fields that differ from request to request, in the order of ``fields``.
    package let values: UnsafeBufferPointer<UnsafeRawBufferPointer>
    package let body: [UInt8]

    @unsafe
    package init(_ fields: HTTP2PreparedRequest, values: UnsafeBufferPointer<UnsafeRawBufferPointer>, body: [UInt8]) {
        self.fields = fields
        unsafe self.values = values
        self.body = body
    }
}
