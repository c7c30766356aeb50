package import PushModel
import PushWire

/// `GET /openapi.json`: the description of all endpoints.
package struct GetOpenAPI: ImmediateEndpoint {
    package static let operation = Operation(
        .get, at: "/openapi.json", id: "getOpenAPI", access: .open, subject: "Server",
        summary: "Returns the OpenAPI document of this server.")

    private let document: [UInt8]

    /// Creates the endpoint, which describes the given endpoints and itself.
    package init(describing endpoints: [AnyEndpoint], version: String) {
        let all = endpoints + [AnyEndpoint(now: GetOpenAPI(document: []))]
        document = OpenAPIDocument.make(of: all, version: version).bytes + [0x0a]
    }

    private init(document: [UInt8]) {
        self.document = document
    }

    package func answerNow(_ input: NoInput, for caller: Caller) -> Reply<WrittenAnswer<JSONObjectKind>> {
        Reply(WrittenAnswer(document))
    }
}
