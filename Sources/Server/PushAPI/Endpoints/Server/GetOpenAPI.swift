import PushLoop
package import PushModel
import PushWire

/// `GET /openapi.json`: the description of all endpoints.
package struct GetOpenAPI: Endpoint {
    package static let operation = Operation(
        .get, at: "/openapi.json", id: "getOpenAPI", access: .open, subject: "Server",
        summary: "Returns the OpenAPI document of this server.")

    private let endpoints: [AnyEndpoint]
    private let version: String
    private let document = Locked<Task<[UInt8], Never>?>(nil)

    /// Creates the endpoint, which describes the given endpoints and itself.
    package init(describing endpoints: [AnyEndpoint], version: String) {
        self.endpoints = endpoints
        self.version = version
    }

    package func answer(_ input: NoInput, for caller: Caller) async -> Reply<WrittenAnswer<JSONObjectKind>> {
        let document = document.withLock { document in
            let known = document ?? Task { await write() }
            document = known
            return known
        }
        return Reply(WrittenAnswer(await document.value))
    }

    /// Writes the document. That takes longer than all else that a start computes, so it is done when the first client
    /// asks, and not on the loop.
    @concurrent
    private func write() async -> [UInt8] {
        let all = endpoints + [AnyEndpoint(GetOpenAPI(describing: [], version: version))]
        return OpenAPIDocument.make(of: all, version: version).bytes + [0x0a]
    }
}
