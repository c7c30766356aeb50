import FoundationEssentials
import PushAPI
import PushConfiguration
import PushServer
import PushTransport

/// The API keys of a data directory: those of the Carillon that runs on it, or else of its files.
struct KeyStore {
    private let directory: String

    init(_ arguments: Arguments) throws {
        directory = try Configuration.dataDirectory(
            flag: arguments.text("data"), file: arguments.text("config"))
    }

    /// The sentence for people if no Carillon runs; otherwise empty.
    static let stoppedNote = "No Carillon runs on the data directory; the change is valid from its next start.\n"

    /// Sends a request for `/v1/keys` and decodes the answer. Returns also whether a Carillon answered it.
    func ask<Value: Decodable>(
        _ method: HTTP1Method, at target: String, body: [UInt8] = [], for type: Value.Type = Value.self
    ) async throws -> (value: Value, isRunning: Bool) {
        let (answer, isRunning) = try await send(method, at: target, body: body)
        guard (200...299).contains(answer.status) else { throw ControlClient.refusal(answer) }
        do {
            return (try JSONDecoder().decode(Value.self, from: Data(answer.body)), isRunning)
        } catch {
            throw Failure(.failed, "cannot decode the response; is it the same version of Carillon? (\(error))")
        }
    }

    private func send(
        _ method: HTTP1Method, at target: String, body: [UInt8]
    ) async throws -> (answer: APIAnswer, isRunning: Bool) {
        do {
            let client = APIClient(dataDirectory: directory)
            return (try await client.send(method.rawValue, to: target, body: body), true)
        } catch let error as APIClientError where error.code == .notRunning {
            let answer = try await StoppedKeys.answer(method, at: target, body: body, directory: directory)
            return (answer, false)
        } catch let error as APIClientError {
            throw Failure(error)
        }
    }
}
