/// The reason why a request is not carried out, for programs. The set is closed: `/openapi.json` lists it, and a code
/// never changes its meaning or its status.
package enum ProblemCode: String, CaseIterable, Codable, Sendable {
    case badRequest = "bad_request"
    case badJSON = "bad_json"
    case unauthenticated
    case clockSkew = "clock_skew"
    case replayed
    case forbidden
    case crossOrigin = "cross_origin"
    case notFound = "not_found"
    case unknownApp = "unknown_app"
    case unknownDevice = "unknown_device"
    case unknownMessage = "unknown_message"
    case unknownUser = "unknown_user"
    case unknownKey = "unknown_key"
    case unknownNode = "unknown_node"
    case unknownWebhook = "unknown_webhook"
    case methodNotAllowed = "method_not_allowed"
    case requestTimeout = "request_timeout"
    case conflict
    case tooLate = "too_late"
    case tooLarge = "too_large"
    case pathTooLong = "path_too_long"
    case unsupportedMediaType = "unsupported_media_type"
    case expectationFailed = "expectation_failed"
    case unknownHost = "unknown_host"
    case invalid
    case tooManyRequests = "too_many_requests"
    case headTooLarge = "head_too_large"
    case `internal`
    case notImplemented = "not_implemented"
    case unavailable
    case unsupportedVersion = "unsupported_version"

    package var status: Int {
        switch self {
        case .badRequest, .badJSON: 400
        case .unauthenticated, .clockSkew, .replayed: 401
        case .forbidden, .crossOrigin: 403
        case .notFound, .unknownApp, .unknownDevice, .unknownMessage, .unknownUser, .unknownKey, .unknownNode,
            .unknownWebhook:
            404
        case .methodNotAllowed: 405
        case .requestTimeout: 408
        case .conflict, .tooLate: 409
        case .tooLarge: 413
        case .pathTooLong: 414
        case .unsupportedMediaType: 415
        case .expectationFailed: 417
        case .unknownHost: 421
        case .invalid: 422
        case .tooManyRequests: 429
        case .headTooLarge: 431
        case .internal: 500
        case .notImplemented: 501
        case .unavailable: 503
        case .unsupportedVersion: 505
        }
    }

    /// The same words for every problem with this code.
    package var title: String {
        switch self {
        case .badRequest: "The request is not valid HTTP"
        case .badJSON: "The body is not JSON"
        case .unauthenticated: "The request is not authenticated"
        case .clockSkew: "The clocks of client and server differ"
        case .replayed: "The request was received before"
        case .forbidden: "The key has no right to do this"
        case .crossOrigin: "The request comes from another site"
        case .notFound: "There is nothing at this path"
        case .unknownApp: "There is no such app"
        case .unknownDevice: "There is no such device"
        case .unknownMessage: "There is no such message"
        case .unknownUser: "There is no such user"
        case .unknownKey: "There is no such key"
        case .unknownNode: "There is no such node"
        case .unknownWebhook: "There is no such webhook"
        case .methodNotAllowed: "The path does not have this method"
        case .requestTimeout: "The request took too long"
        case .conflict: "The present state does not allow this"
        case .tooLate: "It is too late for this"
        case .tooLarge: "The body is too large"
        case .pathTooLong: "The request line is too long"
        case .unsupportedMediaType: "The media type of the body is not supported"
        case .expectationFailed: "The expectation is not supported"
        case .unknownHost: "The server does not serve this host"
        case .invalid: "The request is invalid"
        case .tooManyRequests: "There are too many requests"
        case .headTooLarge: "The header fields are too large"
        case .internal: "The server failed"
        case .notImplemented: "The server does not implement this part of HTTP"
        case .unavailable: "The server cannot do this now"
        case .unsupportedVersion: "The server does not speak this version of HTTP"
        }
    }
}
