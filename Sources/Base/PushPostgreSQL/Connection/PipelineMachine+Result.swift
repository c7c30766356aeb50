import CPostgreSQL

extension PipelineMachine.Answer where Result == PostgreSQLResult {
    /// Creates the answer that a result of libpq contains. Throws if libpq itself made the error, or if no section can
    /// have such a result.
    init(_ handle: consuming ResultHandle) throws(PostgreSQLError) {
        switch handle.status {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY:
            self = .result(PostgreSQLResult(handle))
        case PGRES_PIPELINE_SYNC:
            self = .synchronized
        case PGRES_PIPELINE_ABORTED:
            self = .skipped
        case PGRES_FATAL_ERROR:
            guard let failure = unsafe handle.fields.failure else {
                throw PostgreSQLError(message: unsafe handle.fields.message)
            }
            self = .failed(failure)
        default:
            throw PostgreSQLError(message: "the server answered with a COPY, which a section must not contain")
        }
    }
}
