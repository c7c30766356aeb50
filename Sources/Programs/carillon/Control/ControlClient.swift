import PushAPI

/// A client of a running Carillon whose errors carry the exit status of a verb.
struct ControlClient: Sendable {
    private let client: APIClient

    init(dataDirectory: String, deadline: Duration = .seconds(30)) {
        client = APIClient(dataDirectory: dataDirectory, deadline: deadline)
    }

    /// Sends a request and decodes its response.
    ///
    /// - Parameter finalStatuses: The statuses for which another attempt would have the same result.
    /// - Throws: ``Failure``, also if the server refuses the request.
    func ask<Value: Decodable>(
        _ method: String, at path: String, body: [UInt8] = [], finalStatuses: Set<Int> = [],
        for type: Value.Type = Value.self
    ) async throws -> Value {
        do {
            return try await client.ask(method, at: path, body: body, for: type)
        } catch let error as APIClientError {
            if case .refused(let status) = error.code, finalStatuses.contains(status) {
                throw Failure(.failed, error.description)
            }
            throw Failure(error)
        }
    }

    /// Sends a request and returns the response, whatever its status.
    func send(_ method: String, to path: String, body: [UInt8] = []) async throws -> APIAnswer {
        do {
            return try await client.send(method, to: path, body: body)
        } catch let error as APIClientError {
            throw Failure(error)
        }
    }

    /// Whether no Carillon runs on the data directory. It is false if that cannot be found out.
    var isAlone: Bool {
        get async {
            do {
                _ = try await client.send("GET", to: "/healthz")
                return false
            } catch let error as APIClientError {
                return error.code == .notRunning
            } catch {
                return false
            }
        }
    }

    /// Returns the page of events that was parsed from a response; nil if the response is malformed.
    static func page(_ page: EventPage?) throws(Failure) -> EventPage {
        guard let page else {
            throw Failure(.failed, "cannot parse the response; is it the same version of Carillon?")
        }
        return page
    }

    /// Returns the failure for a response with another status than 200.
    static func refusal(_ answer: APIAnswer) -> Failure { Failure(APIClient.refusal(answer)) }
}

extension Failure {
    init(_ error: APIClientError) {
        self.init(ExitCode(error.code), error.description)
    }
}

extension ExitCode {
    fileprivate init(_ code: APIClientError.Code) {
        self =
            switch code {
            case .invalidPath: .configuration
            case .notRunning, .disconnected: .unavailable
            case .notPermitted: .notPermitted
            case .timedOut: .tryAgain
            case .malformed: .failed
            case .refused(400), .refused(404), .refused(413), .refused(422): .badInput
            case .refused(401), .refused(403): .notPermitted
            case .refused(408), .refused(409), .refused(429): .tryAgain
            case .refused(503): .unavailable
            case .refused: .failed
            }
    }
}
