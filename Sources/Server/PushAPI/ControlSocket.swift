/// The control socket in the data directory, by which the verbs of the command line reach a running Carillon.
package enum ControlSocket {
    package static let fileName = "control.sock"
}
