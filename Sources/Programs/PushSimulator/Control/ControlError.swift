/// A request to the control port that fails: the HTTP status, the problem, and how to correct the request.
struct ControlError: Error {
    var status: UInt16
    var problem: String
    var advice: String

    init(_ problem: String, status: UInt16 = 400, advice: String) {
        self.status = status
        self.problem = problem
        self.advice = advice
    }

    /// Parses a request body. An error is reported together with the advice.
    static func reading<Value>(advice: String, with body: () throws -> Value) throws(ControlError) -> Value {
        do {
            return try body()
        } catch let error as ControlError {
            throw error
        } catch {
            throw ControlError("\(error)", advice: advice)
        }
    }

    var response: ControlResponse {
        .json(status) {
            $0.member("error", string: problem)
            $0.member("advice", string: advice)
        }
    }
}
