package import PushModel
import PushStore

/// `GET /v1/devices/{device}/trace`: the story of a device.
package struct TraceDevice: Endpoint {
    package typealias Input = DevicePath

    package static let operation = Operation(
        .get, at: "/v1/devices/{device}/trace", id: "traceDevice", access: .role(.observe), subject: "Devices",
        summary: "Returns the events of a device, in order.")

    private let traces: Traces

    package init(traces: Traces) {
        self.traces = traces
    }

    package func answer(_ input: Input, for caller: Caller) async throws -> Reply<WrittenAnswer<TraceKind>> {
        let found = try await TraceSearch(log: traces.log).device(input.device)
        return Reply(traces.written(found, for: caller))
    }
}
